// Memory and streams of the current GPU that free themselves.
#pragma once

#include <cstddef>
#include <utility>

#include "calib/device/cuda_check.h"

namespace tessella::calib {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Throws OutOfMemory.
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) CALIB_CUDA(cudaMalloc(&at_, bytes));
  }
  ~DeviceMemory() { CALIB_CUDA_NOEXCEPT(cudaFree(at_)); }
  DeviceMemory(DeviceMemory&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(at_);
  }
  void* get() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  // Does not wait for the default stream. Blocks of a stream that goes first are placed before those of others that
  // wait for an SM: communication is launched so, or it would start only when a large kernel ends.
  explicit Stream(bool goes_first = false) {
    int last = 0;
    int first = 0;
    CALIB_CUDA(cudaDeviceGetStreamPriorityRange(&last, &first));
    CALIB_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, goes_first ? first : last));
  }
  ~Stream() { CALIB_CUDA_NOEXCEPT(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { CALIB_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(bool timing = true) {
    CALIB_CUDA(cudaEventCreateWithFlags(&event_, timing ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() { CALIB_CUDA_NOEXCEPT(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { CALIB_CUDA(cudaEventRecord(event_, stream.get())); }

 private:
  cudaEvent_t event_ = nullptr;
};

} // namespace tessella::calib
