// Clocks, power, temperature and throttling of a GPU, from the driver's management library, loaded when there is one.
// A sample is dropped when the GPU was slowed down by heat or by hardware protection in its course. The software power
// limit is not counted: large matrix products run into it always, and what it leaves is what training gets; the clock
// is recorded.
#pragma once

#include <memory>
#include <string>

#include "calib/protocol/clock_source.h"

namespace tessella::calib {

// `pci_bus_id` as CUDA spells it. Without the library, a source that knows nothing and drops nothing.
std::unique_ptr<ClockSource> gpu_clock(const std::string& pci_bus_id);

} // namespace tessella::calib
