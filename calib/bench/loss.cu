// Fused cross-entropy on bf16 logits, one block per row: forward reads a row for its softmax sum, then reads it again
// and overwrites it with the gradient (6 bytes per logit); backward scales that gradient in place (4 bytes).
#include <random>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 1024;
constexpr float kScale = -1.0F; // of the backward: in place, and repeated runs must not end in zeros

struct LossState {
  DeviceMemory logits;   // [n, V]; becomes the gradient
  DeviceMemory original; // of set 0, for the check
  DeviceMemory targets;
  DeviceMemory losses;
};

__global__ void loss_kernel(Eight* logits, const int* targets, float* losses, int vectors) {
  __shared__ float scratch[32];
  Eight* row = logits + static_cast<std::int64_t>(blockIdx.x) * vectors;
  // Online softmax: each thread keeps a maximum and a sum relative to it.
  float top = -INFINITY;
  float sum = 0.0F;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float x[8];
    unpack(row[v], x);
    float largest = x[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) largest = fmaxf(largest, x[i]);
    if (largest > top) {
      sum *= __expf(top - largest); // exp(-inf) = 0 at first
      top = largest;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += __expf(x[i] - top);
  }
  __shared__ float block_top;
  if (threadIdx.x == 0) block_top = -INFINITY;
  const float warp_top = warp_max(top);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = warp_top;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 0; w < kThreads / 32; ++w) block_top = fmaxf(block_top, scratch[w]);
  __syncthreads();
  const float total = block_sum(top == -INFINITY ? 0.0F : sum * __expf(top - block_top), scratch);
  const float lse = block_top + __logf(total);
  const int target = targets[blockIdx.x];
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float x[8];
    unpack(row[v], x);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const bool is_target = 8 * v + i == target;
      if (is_target) losses[blockIdx.x] = lse - x[i];
      x[i] = __expf(x[i] - lse) - (is_target ? 1.0F : 0.0F);
    }
    row[v] = pack(x);
  }
}

__global__ void scale_kernel(Eight* gradient, float scale, std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * 256;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < vectors; i += step) {
    float x[8];
    unpack(gradient[i], x);
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e] *= scale;
    gradient[i] = pack(x);
  }
}

// Half of the samples are targets, whose gradient is large; elsewhere it is the probability.
__global__ void loss_samples(const void* original, const void* result, const int* targets, std::int64_t n,
                             std::int64_t vocab, bool backward, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  std::int64_t element = sampled_element(sample, n * vocab);
  const std::int64_t r = element / vocab;
  if (sample % 2 == 0) element = r * vocab + targets[r];
  const double x = static_cast<double>(load_element(original, Element::bf16, element));
  got[sample] = static_cast<double>(load_element(result, Element::bf16, element));
  if (backward) {
    expected[sample] = static_cast<double>(kScale) * x;
    return;
  }
  double sum = 0.0;
  for (std::int64_t j = 0; j < vocab; ++j)
    sum += exp(static_cast<double>(load_element(original, Element::bf16, r * vocab + j)));
  expected[sample] = exp(x) / sum - (element % vocab == targets[r] ? 1.0 : 0.0);
}

DeviceMemory random_targets(const GpuContext& gpu, std::int64_t n, std::int64_t vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> targets;
  for (std::int64_t i = 0; i < n; ++i)
    targets.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(vocab)));
  DeviceMemory memory(targets.size() * sizeof(int));
  CALIB_CUDA(cudaMemcpyAsync(memory.get(), targets.data(), memory.bytes(), cudaMemcpyHostToDevice, gpu.stream().get()));
  gpu.stream().wait();
  return memory;
}

} // namespace

std::unique_ptr<OpCase> loss_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t n = shape.dim("rows");
  const std::int64_t vocab = shape.dim("vocab");
  if (vocab % 8 != 0) throw std::invalid_argument("loss: the vocabulary must be a multiple of 8");
  const bool back = shape.kernel == "loss_bwd";
  const auto elements = static_cast<std::size_t>(n * vocab);
  GpuOp<LossState> op;
  op.work.bytes = (back ? 4.0 : 6.0) * static_cast<double>(elements);
  op.work.footprint = 4 * elements; // the copy of set 0 included
  op.make = [=, &gpu](std::uint64_t seed) {
    LossState s;
    s.logits = random_memory(elements, Element::bf16, seed, gpu.stream());
    s.targets = random_targets(gpu, n, vocab, seed);
    s.losses = poisoned_memory(static_cast<std::size_t>(n) * sizeof(float), gpu.stream());
    if (seed != 1) return s;
    s.original = DeviceMemory(2 * elements);
    CALIB_CUDA(
        cudaMemcpyAsync(s.original.get(), s.logits.get(), 2 * elements, cudaMemcpyDeviceToDevice, gpu.stream().get()));
    return s;
  };
  op.run = [=, &gpu](LossState& s) {
    if (back)
      scale_kernel<<<blocks_for(n * vocab / 8, 256, 32 * gpu.sms()), 256, 0, gpu.stream().get()>>>(
          s.logits.as<Eight>(), kScale, n * vocab / 8);
    else
      loss_kernel<<<static_cast<unsigned>(n), kThreads, 0, gpu.stream().get()>>>(
          s.logits.as<Eight>(), s.targets.as<int>(), s.losses.as<float>(), static_cast<int>(vocab / 8));
    CALIB_LAUNCHED(loss);
  };
  op.sample = [=, &gpu](LossState& s, const SampleBuffer& b) {
    loss_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        s.original.get(), s.logits.get(), s.targets.as<int>(), n, vocab, back, b.got(), b.expected());
    CALIB_LAUNCHED(loss_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
