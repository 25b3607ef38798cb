// Gradient norm and fused Adam on fp32 master weights: the norm reads the gradient (4 bytes); Adam reads gradient,
// master and two moments (16), writes the last three (12) and the bf16 weight (2). 34 bytes per parameter.
#include <array>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;
constexpr float kRate = 1e-3F;
constexpr float kBeta1 = 0.9F;
constexpr float kBeta2 = 0.95F;
constexpr float kEpsilon = 1e-8F;

struct AdamState {
  DeviceMemory master, gradient, mean, variance, weight, norm;
  std::array<DeviceMemory, 3> before; // master, mean, variance of set 0, for the check
};

__global__ void norm_kernel(const float4* gradient, float* norm, std::int64_t vectors) {
  __shared__ float scratch[32];
  float sum = 0.0F;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += step) {
    const float4 g = gradient[i];
    sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) atomicAdd(norm, sum);
}

__device__ void adam(float& p, float g, float& m, float& v) {
  m = kBeta1 * m + (1.0F - kBeta1) * g;
  v = kBeta2 * v + (1.0F - kBeta2) * g * g;
  p -= kRate * m / (sqrtf(v) + kEpsilon);
}

__global__ void adam_kernel(float4* master, const float4* gradient, float4* mean, float4* variance,
                            __nv_bfloat162* weight, const float* norm, std::int64_t vectors) {
  const float clip = fminf(1.0F, 1e30F * rsqrtf(*norm + 1e-6F)); // never binds here, but is computed as in training
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += step) {
    float4 p = master[i];
    float4 m = mean[i];
    float4 v = variance[i];
    const float4 g = gradient[i];
    adam(p.x, clip * g.x, m.x, v.x);
    adam(p.y, clip * g.y, m.y, v.y);
    adam(p.z, clip * g.z, m.z, v.z);
    adam(p.w, clip * g.w, m.w, v.w);
    master[i] = p;
    mean[i] = m;
    variance[i] = v;
    weight[2 * i] = __floats2bfloat162_rn(p.x, p.y);
    weight[2 * i + 1] = __floats2bfloat162_rn(p.z, p.w);
  }
}

__global__ void square_kernel(float* values, std::int64_t count) { // a variance is not negative
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) values[i] *= values[i];
}

__global__ void adam_samples(const float* master, const float* gradient, const float* mean, const float* variance,
                             const float* result, std::int64_t count, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t i = sampled_element(sample, count);
  const double g = static_cast<double>(gradient[i]);
  const double m = static_cast<double>(kBeta1) * static_cast<double>(mean[i]) + (1.0 - static_cast<double>(kBeta1)) * g;
  const double v =
      static_cast<double>(kBeta2) * static_cast<double>(variance[i]) + (1.0 - static_cast<double>(kBeta2)) * g * g;
  // The update, not the weight: the weight alone would hide a wrong one.
  const double update = -static_cast<double>(kRate) * m / (sqrt(v) + static_cast<double>(kEpsilon));
  got[sample] = static_cast<double>(result[i]) - static_cast<double>(master[i]);
  expected[sample] = update;
}

AdamState make_state(const GpuContext& gpu, std::size_t params, std::uint64_t seed) {
  const Stream& stream = gpu.stream();
  AdamState s;
  s.master = random_memory(params, Element::f32, seed, stream);
  s.gradient = random_memory(params, Element::f32, seed + 1000, stream);
  s.mean = random_memory(params, Element::f32, seed + 2000, stream);
  s.variance = random_memory(params, Element::f32, seed + 3000, stream);
  const auto count = static_cast<std::int64_t>(params);
  square_kernel<<<blocks_for(count, kThreads, std::int64_t{1} << 31), kThreads, 0, stream.get()>>>(
      s.variance.as<float>(), count);
  CALIB_LAUNCHED(square_kernel);
  s.weight = poisoned_memory(2 * params, stream);
  s.norm = DeviceMemory(sizeof(float));
  if (seed != 1) return s;
  const std::array<const DeviceMemory*, 3> from = {&s.master, &s.mean, &s.variance};
  for (std::size_t i = 0; i < from.size(); ++i) {
    s.before[i] = DeviceMemory(4 * params);
    CALIB_CUDA(cudaMemcpyAsync(s.before[i].get(), from[i]->get(), 4 * params, cudaMemcpyDeviceToDevice, stream.get()));
  }
  return s;
}

} // namespace

std::unique_ptr<OpCase> optimizer_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t params = shape.dim("params");
  if (params % 4 != 0) throw std::invalid_argument("optimizer: parameters must be a multiple of 4");
  GpuOp<AdamState> op;
  op.tolerance = 1e-3; // an update is small beside its weight
  op.work.bytes = 34.0 * static_cast<double>(params);
  op.work.footprint = 30 * static_cast<std::size_t>(params); // the copies of set 0 included
  op.make = [&gpu, params](std::uint64_t seed) { return make_state(gpu, static_cast<std::size_t>(params), seed); };
  op.run = [&gpu, params](AdamState& s) {
    cudaStream_t stream = gpu.stream().get();
    const unsigned blocks = blocks_for(params / 4, kThreads, 32 * gpu.sms());
    CALIB_CUDA(cudaMemsetAsync(s.norm.get(), 0, sizeof(float), stream));
    norm_kernel<<<blocks, kThreads, 0, stream>>>(s.gradient.as<float4>(), s.norm.as<float>(), params / 4);
    CALIB_LAUNCHED(norm_kernel);
    adam_kernel<<<blocks, kThreads, 0, stream>>>(s.master.as<float4>(), s.gradient.as<float4>(), s.mean.as<float4>(),
                                                 s.variance.as<float4>(), s.weight.as<__nv_bfloat162>(),
                                                 s.norm.as<float>(), params / 4);
    CALIB_LAUNCHED(adam_kernel);
  };
  op.sample = [&gpu, params](AdamState& s, const SampleBuffer& b) {
    adam_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        s.before[0].as<float>(), s.gradient.as<float>(), s.before[1].as<float>(), s.before[2].as<float>(),
        s.master.as<float>(), params, b.got(), b.expected());
    CALIB_LAUNCHED(adam_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
