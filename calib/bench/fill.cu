#include "calib/bench/elements.cuh"
#include "calib/bench/fill.h"

namespace tessella::calib {
namespace {

__device__ std::uint64_t mix(std::uint64_t x) { // the finaliser of SplitMix64, as sim/base/rng.h
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__global__ void fill_kernel(void* at, Element type, std::int64_t count, std::uint64_t key) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t word = mix(key + static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ULL);
    store_element(at, type, i, static_cast<float>(word >> 40) * 0x1.0p-23F - 1.0F);
  }
}

} // namespace

void fill_random(const DeviceMemory& memory, Element type, std::uint64_t seed, const Stream& stream) {
  const auto count = static_cast<std::int64_t>(memory.bytes() / size_of(type));
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((count + 255) / 256, 4096));
  fill_kernel<<<blocks, 256, 0, stream.get()>>>(memory.get(), type, count, seed * 0x9e3779b97f4a7c15ULL + 1);
  CALIB_LAUNCHED(fill_kernel);
}

void poison(const DeviceMemory& memory, const Stream& stream) {
  if (memory.bytes() > 0) CALIB_CUDA(cudaMemsetAsync(memory.get(), 0xff, memory.bytes(), stream.get()));
}

DeviceMemory random_memory(std::size_t count, Element type, std::uint64_t seed, const Stream& stream) {
  DeviceMemory memory(count * size_of(type));
  fill_random(memory, type, seed, stream);
  return memory;
}

DeviceMemory poisoned_memory(std::size_t bytes, const Stream& stream) {
  DeviceMemory memory(bytes);
  poison(memory, stream);
  return memory;
}

} // namespace tessella::calib
