// A stand-in for a communication kernel, for machines with one GPU: it holds a number of SMs, so that nothing else runs
// on them, and streams through memory at a set rate, as an all-to-all that sends and receives would.
#pragma once

#include "calib/device/gpu_context.h"

namespace tessella::calib {

class StandIn {
 public:
  // Starts and returns once it is resident on all its SMs. `gbytes_per_s` counts bytes read plus bytes written, over
  // all SMs; 0: it only waits. It ends when this does, and by itself after a minute.
  StandIn(const GpuContext& gpu, int sms, double gbytes_per_s);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

 private:
  struct Control; // in memory that GPU and CPU share
  Stream stream_{true};
  DeviceMemory from_;
  DeviceMemory to_;
  Control* control_ = nullptr;
};

// The same as a kernel that ends: moves `bytes` (read plus written) through `sms` SMs at `gbytes_per_s`, for pairs in
// which communication has a length. Memory of at least 64 MiB, half to read and half to write.
void launch_transfer(const GpuContext& gpu, int sms, double gbytes_per_s, double bytes, const DeviceMemory& memory,
                     cudaStream_t stream);

} // namespace tessella::calib
