// Tokens to expert rows and back: permute (copy a token to its K rows), unpermute (weighted sum of K rows), and their
// backwards. (1 + K) n h elements each, whole rows in 16-byte accesses. Unpermute's backward also forms the gradient of
// the weights.
#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 128;

struct PermuteState {
  DeviceMemory tokens;  // [n, h]
  DeviceMemory rows;    // [n * k, h]
  DeviceMemory out;     // gradient of the rows
  DeviceMemory source;  // [n * k]: token * k + slot that fills a row
  DeviceMemory place;   // its inverse: row of each (token, slot)
  DeviceMemory weights; // [n * k]
  DeviceMemory dots;    // gradient of the weights
};

__global__ void permute_kernel(const Eight* tokens, const int* source, Eight* rows, int topk, int vectors) {
  const Eight* from = tokens + static_cast<std::int64_t>(source[blockIdx.x] / topk) * vectors;
  Eight* to = rows + static_cast<std::int64_t>(blockIdx.x) * vectors;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) to[v] = from[v];
}

// weights == nullptr: each row counts once.
__global__ void unpermute_kernel(const Eight* rows, const int* place, const float* weights, Eight* tokens, int topk,
                                 int vectors) {
  const std::int64_t token = blockIdx.x;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float sum[8] = {};
    for (int k = 0; k < topk; ++k) {
      const std::int64_t slot = token * topk + k;
      const float w = weights == nullptr ? 1.0F : weights[slot];
      float f[8];
      unpack(rows[static_cast<std::int64_t>(place[slot]) * vectors + v], f);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += w * f[i];
    }
    tokens[token * vectors + v] = pack(sum);
  }
}

__global__ void unpermute_backward_kernel(const Eight* dtokens, const Eight* rows, const int* source,
                                          const float* weights, Eight* drows, float* dots, int topk, int vectors) {
  __shared__ float scratch[32];
  const int slot = source[blockIdx.x];
  const Eight* gradient = dtokens + static_cast<std::int64_t>(slot / topk) * vectors;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * vectors;
  const float w = weights[slot];
  float dot = 0.0F;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float g[8];
    float f[8];
    unpack(gradient[v], g);
    unpack(rows[first + v], f);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      dot += g[i] * f[i];
      g[i] *= w;
    }
    drows[first + v] = pack(g);
  }
  dot = block_sum(dot, scratch);
  if (threadIdx.x == 0) dots[slot] = dot;
}

enum class Kind { permute, unpermute, permute_backward, unpermute_backward };

__global__ void permute_samples(Kind kind, const void* tokens, const void* rows, const void* out, const int* source,
                                const int* place, const float* weights, std::int64_t n, int topk, std::int64_t cols,
                                double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool by_row = kind == Kind::permute || kind == Kind::unpermute_backward;
  const std::int64_t element = sampled_element(sample, (by_row ? n * topk : n) * cols);
  const std::int64_t r = element / cols;
  const std::int64_t j = element % cols;
  if (by_row) {
    const int slot = source[r];
    const double token = static_cast<double>(load_element(tokens, Element::bf16, slot / topk * cols + j));
    const double w = kind == Kind::permute ? 1.0 : static_cast<double>(weights[slot]);
    got[sample] = static_cast<double>(load_element(kind == Kind::permute ? rows : out, Element::bf16, element));
    expected[sample] = w * token;
    return;
  }
  double sum = 0.0;
  for (int k = 0; k < topk; ++k) {
    const std::int64_t slot = r * topk + k;
    const double w = kind == Kind::unpermute ? static_cast<double>(weights[slot]) : 1.0;
    sum += w * static_cast<double>(load_element(rows, Element::bf16, place[slot] * cols + j));
  }
  got[sample] = static_cast<double>(load_element(tokens, Element::bf16, element));
  expected[sample] = sum;
}

Kind kind_of(const std::string& kernel) {
  if (kernel == "permute") return Kind::permute;
  if (kernel == "unpermute") return Kind::unpermute;
  if (kernel == "permute_bwd") return Kind::permute_backward;
  return Kind::unpermute_backward;
}

// Rows in random order: what routing makes of tokens.
void upload_order(const GpuContext& gpu, PermuteState& s, int slots, std::uint64_t seed) {
  std::vector<int> source(static_cast<std::size_t>(slots));
  std::iota(source.begin(), source.end(), 0);
  std::mt19937_64 random(seed);
  for (std::size_t i = source.size() - 1; i > 0; --i) std::swap(source[i], source[random() % (i + 1)]);
  std::vector<int> place(source.size());
  for (std::size_t r = 0; r < source.size(); ++r) place[static_cast<std::size_t>(source[r])] = static_cast<int>(r);
  const std::size_t bytes = source.size() * sizeof(int);
  s.source = DeviceMemory(bytes);
  s.place = DeviceMemory(bytes);
  CALIB_CUDA(cudaMemcpyAsync(s.source.get(), source.data(), bytes, cudaMemcpyHostToDevice, gpu.stream().get()));
  CALIB_CUDA(cudaMemcpyAsync(s.place.get(), place.data(), bytes, cudaMemcpyHostToDevice, gpu.stream().get()));
  gpu.stream().wait(); // the vectors end here
}

struct Extent {
  std::int64_t n;
  int topk;
  std::int64_t cols;
  int slots() const { return static_cast<int>(n) * topk; }
  int vectors() const { return static_cast<int>(cols / 8); }
};

PermuteState make_state(const GpuContext& gpu, Kind kind, const Extent& x, std::uint64_t seed) {
  const Stream& stream = gpu.stream();
  const auto token_elements = static_cast<std::size_t>(x.n * x.cols);
  const auto row_elements = static_cast<std::size_t>(x.slots()) * static_cast<std::size_t>(x.cols);
  const bool writes_tokens = kind == Kind::unpermute || kind == Kind::permute_backward;
  PermuteState s;
  upload_order(gpu, s, x.slots(), seed);
  s.tokens = writes_tokens ? poisoned_memory(2 * token_elements, stream)
                           : random_memory(token_elements, Element::bf16, seed, stream);
  s.rows = kind == Kind::permute ? poisoned_memory(2 * row_elements, stream)
                                 : random_memory(row_elements, Element::bf16, seed + 1000, stream);
  s.weights = random_memory(static_cast<std::size_t>(x.slots()), Element::f32, seed + 2000, stream);
  if (kind == Kind::unpermute_backward) {
    s.out = poisoned_memory(2 * row_elements, stream);
    s.dots = poisoned_memory(static_cast<std::size_t>(x.slots()) * sizeof(float), stream);
  }
  return s;
}

void run_kernel(const GpuContext& gpu, Kind kind, const Extent& x, const PermuteState& s) {
  const auto tokens = static_cast<unsigned>(x.n);
  const auto rows = static_cast<unsigned>(x.slots());
  cudaStream_t stream = gpu.stream().get();
  switch (kind) {
  case Kind::permute:
    permute_kernel<<<rows, kThreads, 0, stream>>>(s.tokens.as<Eight>(), s.source.as<int>(), s.rows.as<Eight>(), x.topk,
                                                  x.vectors());
    break;
  case Kind::unpermute:
  case Kind::permute_backward:
    unpermute_kernel<<<tokens, kThreads, 0, stream>>>(s.rows.as<Eight>(), s.place.as<int>(),
                                                      kind == Kind::unpermute ? s.weights.as<float>() : nullptr,
                                                      s.tokens.as<Eight>(), x.topk, x.vectors());
    break;
  case Kind::unpermute_backward:
    unpermute_backward_kernel<<<rows, kThreads, 0, stream>>>(
        s.tokens.as<Eight>(), s.rows.as<Eight>(), s.source.as<int>(), s.weights.as<float>(), s.out.as<Eight>(),
        s.dots.as<float>(), x.topk, x.vectors());
    break;
  }
  CALIB_LAUNCHED(permute);
}

} // namespace

std::unique_ptr<OpCase> permute_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const Extent x{shape.dim("tokens"), static_cast<int>(shape.dim("topk")), shape.dim("cols")};
  if (x.cols % 8 != 0) throw std::invalid_argument("permute: columns must be a multiple of 8");
  const Kind kind = kind_of(shape.kernel);
  GpuOp<PermuteState> op;
  op.work.bytes = 2.0 * static_cast<double>((1 + x.topk) * x.n * x.cols);
  op.work.footprint = static_cast<std::size_t>(2 * (1 + 2 * x.topk) * x.n * x.cols);
  op.make = [&gpu, kind, x](std::uint64_t seed) { return make_state(gpu, kind, x, seed); };
  op.run = [&gpu, kind, x](PermuteState& s) { run_kernel(gpu, kind, x, s); };
  op.sample = [&gpu, kind, x](PermuteState& s, const SampleBuffer& b) {
    permute_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        kind, s.tokens.get(), s.rows.get(), s.out.get(), s.source.as<int>(), s.place.as<int>(), s.weights.as<float>(),
        x.n, x.topk, x.cols, b.got(), b.expected());
    CALIB_LAUNCHED(permute_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
