// Reading and writing elements by type, and eight bf16 at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "calib/bench/fill.h"

namespace tessella::calib {

__device__ inline float load_element(const void* at, Element type, std::int64_t i) {
  switch (type) {
  case Element::bf16:
    return __bfloat162float(static_cast<const __nv_bfloat16*>(at)[i]);
  case Element::e4m3:
    return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(at)[i]);
  case Element::f32:
    break;
  }
  return static_cast<const float*>(at)[i];
}

__device__ inline void store_element(void* at, Element type, std::int64_t i, float value) {
  switch (type) {
  case Element::bf16:
    static_cast<__nv_bfloat16*>(at)[i] = __float2bfloat16(value);
    return;
  case Element::e4m3:
    static_cast<__nv_fp8_e4m3*>(at)[i] = __nv_fp8_e4m3(value);
    return;
  case Element::f32:
    break;
  }
  static_cast<float*>(at)[i] = value;
}

// Eight bf16 in one 16-byte access.
struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__device__ inline void unpack(const Eight& v, float (&f)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __bfloat1622float2(v.pair[i]);
    f[2 * i] = two.x;
    f[2 * i + 1] = two.y;
  }
}

__device__ inline Eight pack(const float (&f)[8]) {
  Eight v;
#pragma unroll
  for (int i = 0; i < 4; ++i) v.pair[i] = __floats2bfloat162_rn(f[2 * i], f[2 * i + 1]);
  return v;
}

// Element number `sample` of those that are checked, out of `total`: spread by a hash, the last one always included.
__device__ inline std::int64_t sampled_element(int sample, std::int64_t total) {
  if (sample == 0) return total - 1;
  const std::uint64_t hash = static_cast<std::uint64_t>(sample) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::int64_t>((hash ^ (hash >> 29)) % static_cast<std::uint64_t>(total));
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffU, x, offset);
  return x;
}

__device__ inline float warp_max(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, offset));
  return x;
}

// Sum over a block of at most 1024 threads; every thread gets it. `scratch` holds 32 floats.
__device__ inline float block_sum(float x, float* scratch) {
  x = warp_sum(x);
  __syncthreads(); // scratch may still be read from the last call
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  const unsigned warps = (blockDim.x + 31) / 32;
  float total = 0.0F;
  for (unsigned w = 0; w < warps; ++w) total += scratch[w];
  return total;
}

} // namespace tessella::calib
