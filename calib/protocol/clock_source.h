// What the device did while a sample was taken: clocks, power, temperature, and whether something held it back.
// A backend implements it: NVML on GPUs (calib/device), the scheduler's counters on the host (calib/host).
#pragma once

#include <optional>
#include <string>

namespace tessella::calib {

struct DeviceState {
  bool throttled = false; // the sample is dropped and counted
  std::string reason;     // of the throttling
  std::optional<double> clock_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
};

class ClockSource {
 public:
  virtual ~ClockSource() = default;
  // Around every sample. end() says what happened since the last begin().
  virtual void begin() = 0;
  virtual DeviceState end() = 0;
};

} // namespace tessella::calib
