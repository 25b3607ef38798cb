// The host as a machine of several processes, one per rank: kernels are measured in all of them at the same time,
// collectives through memory they share. What the launch of a real cluster does, without GPUs.
#pragma once

#include <memory>

#include "calib/device/machine.h"
#include "calib/launch/rendezvous.h"
#include "calib/launch/world.h"

namespace tessella::calib {

// All ranks must be on this machine. Throws InputError when they are not, or when it has no memory to share.
std::unique_ptr<Machine> process_machine(const World& world, Rendezvous& rendezvous);

} // namespace tessella::calib
