// bf16 to fp8 (e4m3) with one fp32 scale per 128 elements: reads 2 bytes, writes 1 and 4/128 per element. Sixteen lanes
// hold a block of 128.
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;
constexpr float kLargest = 448.0F; // of e4m3
constexpr int kBlock = 128;        // elements of one scale
constexpr int kLanes = kBlock / 8;

struct CastState {
  DeviceMemory in, out, scales;
};

__global__ void cast_kernel(const Eight* in, uint2* out, float* scales, std::int64_t vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= vectors) return; // vectors is a multiple of kLanes, so the lanes of a block leave together
  const unsigned together = 0xffffU << (threadIdx.x % 32 / kLanes * kLanes);
  float x[8];
  unpack(in[i], x);
  float largest = 0.0F;
#pragma unroll
  for (int e = 0; e < 8; ++e) largest = fmaxf(largest, fabsf(x[e]));
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(together, largest, offset));
  const float scale = fmaxf(largest, 1e-12F) / kLargest;
  const float inverse = 1.0F / scale;
  union {
    __nv_fp8_e4m3 small[8];
    uint2 word;
  } packed;
#pragma unroll
  for (int e = 0; e < 8; ++e) packed.small[e] = __nv_fp8_e4m3(x[e] * inverse);
  out[i] = packed.word;
  if (i % kLanes == 0) scales[i / kLanes] = scale;
}

__global__ void cast_samples(const void* in, const void* out, const float* scales, std::int64_t total, double* got,
                             double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t i = sampled_element(sample, total);
  got[sample] = static_cast<double>(load_element(out, Element::e4m3, i)) * static_cast<double>(scales[i / kBlock]);
  expected[sample] = static_cast<double>(load_element(in, Element::bf16, i));
}

} // namespace

std::unique_ptr<OpCase> cast_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t total = shape.dim("rows") * shape.dim("cols");
  if (shape.dim("cols") % kBlock != 0) throw std::invalid_argument("cast: columns must be a multiple of 128");
  const auto elements = static_cast<std::size_t>(total);
  GpuOp<CastState> op;
  op.tolerance = 0.1; // three mantissa bits
  op.work.bytes = (3.0 + 4.0 / kBlock) * static_cast<double>(total);
  op.work.footprint = 3 * elements + elements / 32;
  op.make = [&gpu, elements](std::uint64_t seed) {
    CastState s;
    s.in = random_memory(elements, Element::bf16, seed, gpu.stream());
    s.out = poisoned_memory(elements, gpu.stream());
    s.scales = poisoned_memory(elements / kBlock * sizeof(float), gpu.stream());
    return s;
  };
  op.run = [&gpu, total](CastState& s) {
    cast_kernel<<<blocks_for(total / 8, kThreads, std::int64_t{1} << 31), kThreads, 0, gpu.stream().get()>>>(
        s.in.as<Eight>(), s.out.as<uint2>(), s.scales.as<float>(), total / 8);
    CALIB_LAUNCHED(cast_kernel);
  };
  op.sample = [&gpu, total](CastState& s, const SampleBuffer& b) {
    cast_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        s.in.get(), s.out.get(), s.scales.as<float>(), total, b.got(), b.expected());
    CALIB_LAUNCHED(cast_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
