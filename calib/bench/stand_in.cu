#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "calib/bench/fill.h"
#include "calib/bench/stand_in.h"

namespace tessella::calib {

constexpr int kMostSms = 1024;

// Plain stores only: not every machine lets a GPU do atomics in host memory.
struct StandIn::Control {
  volatile int stop;
  volatile int resident[kMostSms]; // 1: that block has started
};

namespace {

constexpr int kThreads = 512;
constexpr std::size_t kBuffer = std::size_t{256} << 20; // well beyond the L2
constexpr std::uint64_t kLongest = 60'000'000'000ULL;   // ns
constexpr int kChunk = kThreads * 4;                    // 16-byte words a block copies between two looks at the clock

__device__ std::uint64_t now_ns() {
  std::uint64_t t = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

// Copies one chunk and returns when its share of time is over. `moved` counts bytes since `begin`.
__device__ void paced_chunk(const uint4* from, uint4* to, std::size_t words, std::size_t& at, double& moved,
                            double bytes_per_ns, std::uint64_t begin) {
  uint4 held[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) held[i] = from[(at + threadIdx.x + static_cast<std::size_t>(i) * kThreads) % words];
#pragma unroll
  for (int i = 0; i < 4; ++i) to[(at + threadIdx.x + static_cast<std::size_t>(i) * kThreads) % words] = held[i];
  at += kChunk;
  moved += 2.0 * 16.0 * kChunk;
  const auto due = begin + static_cast<std::uint64_t>(moved / bytes_per_ns);
  while (now_ns() < due) __nanosleep(100);
}

// Each block owns a slice of the buffers. The dynamic shared memory it asks for keeps others off its SM.
__global__ void stand_in_kernel(const uint4* from, uint4* to, std::size_t words, double bytes_per_ns,
                                const volatile int* stop, volatile int* resident) {
  const uint4* my_from = from + blockIdx.x * words;
  uint4* my_to = to + blockIdx.x * words;
  if (threadIdx.x == 0) {
    resident[blockIdx.x] = 1;
    __threadfence_system();
  }
  const std::uint64_t begin = now_ns();
  std::size_t at = 0;
  double moved = 0.0;
  __shared__ int ended;
  for (;;) {
    if (threadIdx.x == 0) ended = *stop != 0 || now_ns() - begin > kLongest ? 1 : 0;
    __syncthreads();
    if (ended != 0) return;
    if (bytes_per_ns > 0.0)
      paced_chunk(my_from, my_to, words, at, moved, bytes_per_ns, begin);
    else
      __nanosleep(1000);
    __syncthreads();
  }
}

__global__ void transfer_kernel(const uint4* from, uint4* to, std::size_t words, double bytes_per_ns, double bytes) {
  const std::uint64_t begin = now_ns();
  std::size_t at = 0;
  for (double moved = 0.0; moved < bytes;)
    paced_chunk(from + blockIdx.x * words, to + blockIdx.x * words, words, at, moved, bytes_per_ns, begin);
}

// All an SM has for one block, less what the runtime keeps: a second block finds none.
std::size_t whole_sm(const GpuContext& gpu, const void* kernel) {
  cudaFuncAttributes attributes{};
  CALIB_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  const std::size_t shared = gpu.gpu().sharedMemPerBlockOptin - attributes.sharedSizeBytes;
  CALIB_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  return shared;
}

} // namespace

StandIn::StandIn(const GpuContext& gpu, int sms, double gbytes_per_s)
    : from_(random_memory(kBuffer / 4, Element::f32, 99, stream_)), to_(kBuffer) {
  if (sms < 1 || sms > kMostSms) throw std::invalid_argument("stand-in: between 1 and 1024 SMs");
  CALIB_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&control_), sizeof(Control), cudaHostAllocMapped));
  control_->stop = 0;
  for (int b = 0; b < sms; ++b) control_->resident[b] = 0;
  Control* shared = nullptr;
  CALIB_CUDA(cudaHostGetDevicePointer(reinterpret_cast<void**>(&shared), control_, 0));
  const double per_block = gbytes_per_s / static_cast<double>(sms); // GB/s = bytes per ns
  const std::size_t words = kBuffer / 16 / static_cast<std::size_t>(sms);
  const std::size_t memory = whole_sm(gpu, reinterpret_cast<const void*>(stand_in_kernel));
  stand_in_kernel<<<static_cast<unsigned>(sms), kThreads, memory, stream_.get()>>>(
      from_.as<uint4>(), to_.as<uint4>(), words, per_block, &shared->stop, shared->resident);
  CALIB_LAUNCHED(stand_in_kernel);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  const auto resident = [this, sms] { return std::count(control_->resident, control_->resident + sms, 1); };
  while (resident() < sms) {
    if (std::chrono::steady_clock::now() > end) {
      control_->stop = 1;
      CALIB_CUDA_NOEXCEPT(cudaStreamSynchronize(stream_.get()));
      CALIB_CUDA_NOEXCEPT(cudaFreeHost(control_));
      throw DeviceError("the stand-in for communication did not start on all its SMs within 5 s");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

StandIn::~StandIn() {
  control_->stop = 1;
  CALIB_CUDA_NOEXCEPT(cudaStreamSynchronize(stream_.get()));
  CALIB_CUDA_NOEXCEPT(cudaFreeHost(control_));
}

void launch_transfer(const GpuContext& gpu, int sms, double gbytes_per_s, double bytes, const DeviceMemory& memory,
                     cudaStream_t stream) {
  const std::size_t words = memory.bytes() / 2 / 16 / static_cast<std::size_t>(sms);
  const std::size_t half = memory.bytes() / 2 / 16;
  const std::size_t shared = whole_sm(gpu, reinterpret_cast<const void*>(transfer_kernel));
  transfer_kernel<<<static_cast<unsigned>(sms), kThreads, shared, stream>>>(
      memory.as<uint4>(), memory.as<uint4>() + half, words, gbytes_per_s / static_cast<double>(sms),
      bytes / static_cast<double>(sms));
  CALIB_LAUNCHED(transfer_kernel);
}

} // namespace tessella::calib
