// Softmax attention from what every toolkit has: batched GEMMs and a softmax kernel, with the score matrix in memory.
// This is not flash attention: it moves seq^2 elements per head, and its times must not be taken for those of a fused
// kernel (the raw table says "gemm+softmax"). Backward recomputes the scores: five products instead of two.
//
// Tensors are [head][seq][dim]; one group of query heads shares a key-value head and is done in one batch.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"
#include "calib/bench/lt_gemm.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;

struct Dims {
  std::int64_t batch, seq, heads, kv_heads, qk, v;
  constexpr std::int64_t group() const { return heads / kv_heads; }  // query heads of a key-value head
  constexpr std::int64_t groups() const { return batch * kv_heads; } // done one after another
};

struct AttentionState {
  DeviceMemory q, k, v, out;                   // [batch * heads][seq][qk], [batch * kv_heads][seq][qk] and [..][v]
  DeviceMemory dout, dq, dk, dv;               // backward only
  DeviceMemory scores, probabilities, dscores; // of one group: [group][seq][seq]
};

// Row i of each head: softmax over columns 0..i, zero beyond. One block per row.
__global__ void causal_softmax(const __nv_bfloat16* scores, __nv_bfloat16* out, std::int64_t seq) {
  __shared__ float scratch[32];
  __shared__ float top;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * seq;
  const std::int64_t last = blockIdx.x % seq;
  float largest = -INFINITY;
  for (std::int64_t j = threadIdx.x; j <= last; j += kThreads)
    largest = fmaxf(largest, __bfloat162float(scores[first + j]));
  largest = warp_max(largest);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = scratch[0];
    for (int w = 1; w < kThreads / 32; ++w) all = fmaxf(all, scratch[w]);
    top = all;
  }
  __syncthreads();
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j <= last; j += kThreads) sum += __expf(__bfloat162float(scores[first + j]) - top);
  const float inverse = 1.0F / block_sum(sum, scratch);
  for (std::int64_t j = threadIdx.x; j < seq; j += kThreads)
    out[first + j] = __float2bfloat16(j <= last ? __expf(__bfloat162float(scores[first + j]) - top) * inverse : 0.0F);
}

// dS = P o (dP - sum_j P dP), in place of dP.
__global__ void softmax_backward(const __nv_bfloat16* probabilities, __nv_bfloat16* gradient, std::int64_t seq) {
  __shared__ float scratch[32];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * seq;
  const std::int64_t last = blockIdx.x % seq;
  float dot = 0.0F;
  for (std::int64_t j = threadIdx.x; j <= last; j += kThreads)
    dot += __bfloat162float(probabilities[first + j]) * __bfloat162float(gradient[first + j]);
  dot = block_sum(dot, scratch);
  for (std::int64_t j = threadIdx.x; j < seq; j += kThreads) {
    const float p = __bfloat162float(probabilities[first + j]);
    gradient[first + j] = __float2bfloat16(p * (__bfloat162float(gradient[first + j]) - dot));
  }
}

// One query row by the definition. Forward: an element of the output; backward: of the query's gradient.
__global__ void attention_samples(Dims d, const void* q, const void* k, const void* v, const void* dout,
                                  const void* result, bool backward, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t width = backward ? d.qk : d.v;
  const std::int64_t element = sampled_element(sample, d.batch * d.heads * d.seq * width);
  const std::int64_t row = element / width; // head * seq + i
  const std::int64_t head = row / d.seq;
  const std::int64_t kv = head / d.group();
  const std::int64_t i = row % d.seq;
  const auto at = [](const void* t, std::int64_t n) { return static_cast<double>(load_element(t, Element::bf16, n)); };
  const auto score = [&](std::int64_t j) {
    double s = 0.0;
    for (std::int64_t c = 0; c < d.qk; ++c) s += at(q, row * d.qk + c) * at(k, (kv * d.seq + j) * d.qk + c);
    return s / sqrt(static_cast<double>(d.qk));
  };
  double sum = 0.0; // scores of inputs in [-1, 1) are small: no maximum needed
  double mean = 0.0;
  double weighted = 0.0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const double e = exp(score(j));
    sum += e;
    if (!backward) {
      weighted += e * at(v, (kv * d.seq + j) * d.v + element % width);
      continue;
    }
    double dp = 0.0;
    for (std::int64_t c = 0; c < d.v; ++c) dp += at(dout, row * d.v + c) * at(v, (kv * d.seq + j) * d.v + c);
    const double key = at(k, (kv * d.seq + j) * d.qk + element % width);
    mean += e * dp;
    weighted += e * dp * key;
    // The term with the mean needs sum_j P key: collected in a second pass below.
  }
  double keys = 0.0;
  if (backward)
    for (std::int64_t j = 0; j <= i; ++j) keys += exp(score(j)) * at(k, (kv * d.seq + j) * d.qk + element % width);
  got[sample] = at(result, element);
  expected[sample] =
      backward ? (weighted / sum - mean / sum * keys / sum) / sqrt(static_cast<double>(d.qk)) : weighted / sum;
}

GemmSpec product(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed,
                 std::int64_t batch, float scale) {
  GemmSpec s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.a_transposed = a_transposed;
  s.b_transposed = b_transposed;
  s.batch = batch;
  s.scale = scale;
  return s;
}

// The products of one group. Keys and values are shared by its heads, so all its query rows form one matrix.
class Products {
 public:
  Products(const GpuContext& gpu, const Dims& d, bool backward)
      : gpu_(gpu), d_(d), scale_(rsqrtf(static_cast<float>(d.qk))), rows_(d.group() * d.seq),
        scores_(gpu, product(rows_, d.seq, d.qk, false, true, 1, scale_)),
        out_(gpu, product(rows_, d.v, d.seq, false, false, 1, 1.0F)) {
    if (!backward) return;
    dprobabilities_.emplace(gpu, product(rows_, d.seq, d.v, false, true, 1, 1.0F));
    dq_.emplace(gpu, product(rows_, d.qk, d.seq, false, false, 1, scale_));
    dk_.emplace(gpu, product(d.seq, d.qk, rows_, true, false, 1, scale_));
    dv_.emplace(gpu, product(d.seq, d.v, rows_, true, false, 1, 1.0F));
  }

  void forward(const AttentionState& s, std::int64_t g) const {
    const std::int64_t kv = g * d_.seq;
    run(scores_, s.q, g * rows_ * d_.qk, s.k, kv * d_.qk, s.scores, 0);
    softmax(s);
    run(out_, s.probabilities, 0, s.v, kv * d_.v, s.out, g * rows_ * d_.v);
  }

  void backward(const AttentionState& s, std::int64_t g) const {
    const std::int64_t kv = g * d_.seq;
    run(scores_, s.q, g * rows_ * d_.qk, s.k, kv * d_.qk, s.scores, 0);
    softmax(s);
    run(*dv_, s.probabilities, 0, s.dout, g * rows_ * d_.v, s.dv, kv * d_.v);
    run(*dprobabilities_, s.dout, g * rows_ * d_.v, s.v, kv * d_.v, s.dscores, 0);
    softmax_backward<<<static_cast<unsigned>(rows_), kThreads, 0, gpu_.stream().get()>>>(
        s.probabilities.as<__nv_bfloat16>(), s.dscores.as<__nv_bfloat16>(), d_.seq);
    CALIB_LAUNCHED(softmax_backward);
    run(*dq_, s.dscores, 0, s.k, kv * d_.qk, s.dq, g * rows_ * d_.qk);
    run(*dk_, s.dscores, 0, s.q, g * rows_ * d_.qk, s.dk, kv * d_.qk);
  }

 private:
  void softmax(const AttentionState& s) const {
    causal_softmax<<<static_cast<unsigned>(rows_), kThreads, 0, gpu_.stream().get()>>>(
        s.scores.as<__nv_bfloat16>(), s.probabilities.as<__nv_bfloat16>(), d_.seq);
    CALIB_LAUNCHED(causal_softmax);
  }
  void run(const LtGemm& gemm, const DeviceMemory& a, std::int64_t a_at, const DeviceMemory& b, std::int64_t b_at,
           const DeviceMemory& d, std::int64_t d_at) const {
    gemm.run(a.as<__nv_bfloat16>() + a_at, b.as<__nv_bfloat16>() + b_at, d.as<__nv_bfloat16>() + d_at,
             gpu_.stream().get(), gpu_.workspace());
  }

  const GpuContext& gpu_;
  Dims d_;
  float scale_;
  std::int64_t rows_;
  LtGemm scores_;
  LtGemm out_;
  std::optional<LtGemm> dprobabilities_, dq_, dk_, dv_;
};

AttentionState make_state(const GpuContext& gpu, const Dims& d, bool backward, std::uint64_t seed) {
  const Stream& stream = gpu.stream();
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t q = d.batch * d.heads * d.seq;
  const std::int64_t kv = d.groups() * d.seq;
  const std::int64_t square = d.group() * d.seq * d.seq;
  AttentionState s;
  s.q = random_memory(size(q * d.qk), Element::bf16, seed, stream);
  s.k = random_memory(size(kv * d.qk), Element::bf16, seed + 1000, stream);
  s.v = random_memory(size(kv * d.v), Element::bf16, seed + 2000, stream);
  s.scores = DeviceMemory(size(2 * square));
  s.probabilities = DeviceMemory(size(2 * square));
  if (!backward) {
    s.out = poisoned_memory(size(2 * q * d.v), stream);
    return s;
  }
  s.dout = random_memory(size(q * d.v), Element::bf16, seed + 3000, stream);
  s.dscores = DeviceMemory(size(2 * square));
  s.dq = poisoned_memory(size(2 * q * d.qk), stream);
  s.dk = poisoned_memory(size(2 * kv * d.qk), stream);
  s.dv = poisoned_memory(size(2 * kv * d.v), stream);
  return s;
}

} // namespace

std::unique_ptr<OpCase> attention_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const Dims d{shape.dim("batch"),    shape.dim("seq"),    shape.dim("heads"),
               shape.dim("kv_heads"), shape.dim("qk_dim"), shape.dim("v_dim")};
  if (d.kv_heads == 0 || d.heads % d.kv_heads != 0) throw std::invalid_argument("attention: heads / kv_heads");
  // Groups lie behind each other, and the library may pick kernels that need operands at multiples of 256 bytes.
  if (d.seq * d.qk % 128 != 0 || d.seq * d.v % 128 != 0)
    throw std::invalid_argument("attention: sequence times head size must be a multiple of 128");
  const bool backward = shape.op == "attention_bwd";
  const auto products = std::make_shared<Products>(gpu, d, backward);
  const double pairs = 0.5 * static_cast<double>(d.batch * d.heads) * static_cast<double>(d.seq * d.seq); // causal
  const double dims = static_cast<double>(d.qk + d.v);
  const double tokens = static_cast<double>(d.batch * d.seq);
  GpuOp<AttentionState> op;
  op.work.flops = (backward ? 5.0 : 2.0) * pairs * dims; // as counted for a fused kernel
  op.work.bytes = (backward ? 2.0 : 1.0) * 2.0 * tokens * dims * static_cast<double>(d.heads + d.kv_heads);
  op.work.footprint = static_cast<std::size_t>(op.work.bytes) +
                      static_cast<std::size_t>((backward ? 6 : 4) * d.group() * d.seq * d.seq);
  op.make = [&gpu, d, backward](std::uint64_t seed) { return make_state(gpu, d, backward, seed); };
  op.run = [products, d, backward](AttentionState& s) {
    for (std::int64_t g = 0; g < d.groups(); ++g) {
      if (backward)
        products->backward(s, g);
      else
        products->forward(s, g);
    }
  };
  op.sample = [&gpu, d, backward](AttentionState& s, const SampleBuffer& b) {
    attention_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        d, s.q.get(), s.k.get(), s.v.get(), s.dout.get(), backward ? s.dq.get() : s.out.get(), backward, b.got(),
        b.expected());
    CALIB_LAUNCHED(attention_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
