// Router: top-k of fp32 logits by repeated maximum, softmax over the chosen, one warp per token; and its backward,
// which writes the gradient of all logits. 4 bytes per token and expert.
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kWarps = 4; // of a block
constexpr int kMostExperts = 1024;
constexpr int kMostChosen = 32;

struct RouterState {
  DeviceMemory logits;   // [n, E]
  DeviceMemory chosen;   // [n, k]
  DeviceMemory weights;  // [n, k]
  DeviceMemory dweights; // [n, k]
  DeviceMemory dlogits;  // [n, E]
};

// A lane keeps its logits 32 apart in registers and strikes out what was chosen.
__global__ void topk_kernel(const float* logits, int* chosen, float* weights, std::int64_t n, int experts, int topk) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (token >= n) return;
  float mine[kMostExperts / 32];
#pragma unroll
  for (int i = 0; i < kMostExperts / 32; ++i) {
    const int e = i * 32 + lane;
    mine[i] = e < experts ? logits[token * experts + e] : -INFINITY;
  }
  float first = 0.0F;
  float sum = 0.0F;
  float kept = 0.0F; // of choice number `lane`
  for (int k = 0; k < topk; ++k) {
    float best = -INFINITY;
    int where = kMostExperts;
#pragma unroll
    for (int i = 0; i < kMostExperts / 32; ++i) {
      if (mine[i] > best) {
        best = mine[i];
        where = i * 32 + lane;
      }
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) { // ties go to the lower expert
      const float other = __shfl_xor_sync(0xffffffffU, best, offset);
      const int there = __shfl_xor_sync(0xffffffffU, where, offset);
      if (other > best || (other == best && there < where)) {
        best = other;
        where = there;
      }
    }
#pragma unroll
    for (int i = 0; i < kMostExperts / 32; ++i)
      if (i * 32 + lane == where) mine[i] = -INFINITY;
    if (k == 0) first = best;
    const float weight = __expf(best - first);
    sum += weight;
    if (lane == k) kept = weight;
    if (lane == 0) chosen[token * topk + k] = where;
  }
  if (lane < topk) weights[token * topk + lane] = kept / sum;
}

__global__ void topk_backward_kernel(const int* chosen, const float* weights, const float* dweights, float* dlogits,
                                     std::int64_t n, int experts, int topk) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (token >= n) return;
  const float w = lane < topk ? weights[token * topk + lane] : 0.0F;
  const float d = lane < topk ? dweights[token * topk + lane] : 0.0F;
  const float gradient = w * (d - warp_sum(w * d));
  for (int e = lane; e < experts; e += 32) dlogits[token * experts + e] = 0.0F;
  __syncwarp();
  if (lane < topk) dlogits[token * experts + chosen[token * topk + lane]] = gradient;
}

// Choice k of a token must be the k-th largest: as many logits are larger, or equal and of a lower expert, as there are
// choices before it.
__global__ void topk_samples(const float* logits, const int* chosen, const float* weights, std::int64_t n, int experts,
                             int topk, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t slot = sampled_element(sample, n * topk);
  const float* row = logits + slot / topk * experts;
  const int k = static_cast<int>(slot % topk);
  const float mine = row[chosen[slot]];
  int larger = 0;
  for (int e = 0; e < experts; ++e) larger += row[e] > mine || (row[e] == mine && e < chosen[slot]) ? 1 : 0;
  double sum = 0.0;
  for (int i = 0; i < topk; ++i) sum += exp(static_cast<double>(row[chosen[slot / topk * topk + i]] - mine));
  got[sample] = static_cast<double>(weights[slot]);
  expected[sample] = larger == k ? 1.0 / sum : NAN;
}

__global__ void topk_backward_samples(const int* chosen, const float* weights, const float* dweights,
                                      const float* dlogits, std::int64_t n, int experts, int topk, double* got,
                                      double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  // Every other sample is a chosen expert: elsewhere the gradient is zero.
  const std::int64_t slot = sampled_element(sample, n * topk);
  const std::int64_t token = slot / topk;
  const int e = sample % 2 == 0 ? chosen[slot] : static_cast<int>(slot % experts);
  double dot = 0.0;
  for (std::int64_t k = token * topk; k < (token + 1) * topk; ++k)
    dot += static_cast<double>(weights[k]) * static_cast<double>(dweights[k]);
  double gradient = 0.0;
  for (std::int64_t k = token * topk; k < (token + 1) * topk; ++k)
    if (chosen[k] == e) gradient = static_cast<double>(weights[k]) * (static_cast<double>(dweights[k]) - dot);
  got[sample] = static_cast<double>(dlogits[token * experts + e]);
  expected[sample] = gradient;
}

} // namespace

std::unique_ptr<OpCase> router_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t n = shape.dim("tokens");
  const int topk = static_cast<int>(shape.dim("topk"));
  const int experts = static_cast<int>(shape.dim("experts"));
  if (experts > kMostExperts || topk > kMostChosen || topk > experts)
    throw std::invalid_argument("router: at most 1024 experts and 32 choices");
  const bool back = shape.kernel == "topk_bwd";
  const auto slots = static_cast<std::size_t>(n * topk);
  const auto all = static_cast<std::size_t>(n * experts);
  GpuOp<RouterState> op;
  op.tolerance = 1e-3; // fast exponentials
  op.work.bytes = 4.0 * static_cast<double>(all);
  op.work.footprint = 4 * all + 12 * slots;
  const auto forward = [&gpu, n, experts, topk](RouterState& s) {
    topk_kernel<<<blocks_for(n, kWarps), 32 * kWarps, 0, gpu.stream().get()>>>(s.logits.as<float>(), s.chosen.as<int>(),
                                                                               s.weights.as<float>(), n, experts, topk);
    CALIB_LAUNCHED(topk_kernel);
  };
  op.make = [&gpu, slots, all, back, forward](std::uint64_t seed) {
    RouterState s;
    s.logits = random_memory(all, Element::f32, seed, gpu.stream());
    s.chosen = DeviceMemory(slots * sizeof(int));
    CALIB_CUDA(cudaMemsetAsync(s.chosen.get(), 0, s.chosen.bytes(), gpu.stream().get()));
    s.weights = poisoned_memory(slots * sizeof(float), gpu.stream());
    if (!back) return s;
    s.dweights = random_memory(slots, Element::f32, seed + 1000, gpu.stream());
    s.dlogits = poisoned_memory(all * sizeof(float), gpu.stream());
    forward(s);
    return s;
  };
  op.run = [&gpu, n, experts, topk, back, forward](RouterState& s) {
    if (!back) return forward(s);
    topk_backward_kernel<<<blocks_for(n, kWarps), 32 * kWarps, 0, gpu.stream().get()>>>(
        s.chosen.as<int>(), s.weights.as<float>(), s.dweights.as<float>(), s.dlogits.as<float>(), n, experts, topk);
    CALIB_LAUNCHED(topk_backward_kernel);
  };
  op.sample = [&gpu, n, experts, topk, back](RouterState& s, const SampleBuffer& b) {
    if (back)
      topk_backward_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
          s.chosen.as<int>(), s.weights.as<float>(), s.dweights.as<float>(), s.dlogits.as<float>(), n, experts, topk,
          b.got(), b.expected());
    else
      topk_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
          s.logits.as<float>(), s.chosen.as<int>(), s.weights.as<float>(), n, experts, topk, b.got(), b.expected());
    CALIB_LAUNCHED(router_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
