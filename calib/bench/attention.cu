// Softmax attention from what every toolkit has: batched GEMMs and a softmax kernel, with the score matrix in memory.
// This is not flash attention: it moves seq^2 elements per head, and its times must not be taken for those of a fused
// kernel (the raw table says "gemm+softmax"). Backward recomputes the scores: five products instead of two.
//
// Tensors are [head][seq][dim]; one group of query heads shares a key-value head and is done in one batch.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "calib/bench/attention_check.h"
#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"
#include "calib/bench/lt_gemm.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;

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
  Products(const GpuContext& gpu, const SoftmaxDims& d, bool backward)
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
  SoftmaxDims d_;
  float scale_;
  std::int64_t rows_;
  LtGemm scores_;
  LtGemm out_;
  std::optional<LtGemm> dprobabilities_, dq_, dk_, dv_;
};

AttentionState make_state(const GpuContext& gpu, const SoftmaxDims& d, bool backward, std::uint64_t seed) {
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
  const SoftmaxDims d = softmax_dims(shape);
  // Groups lie behind each other, and the library may pick kernels that need operands at multiples of 256 bytes.
  if (d.seq * d.qk % 128 != 0 || d.seq * d.v % 128 != 0)
    throw std::invalid_argument("attention: sequence times head size must be a multiple of 128");
  const bool backward = shape.op == "attention_bwd";
  const auto products = std::make_shared<Products>(gpu, d, backward);
  GpuOp<AttentionState> op;
  op.work = attention_work(d, backward);
  op.work.footprint += static_cast<std::size_t>((backward ? 6 : 4) * d.group() * d.seq * d.seq);
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
    const void* result = backward ? s.dq.get() : s.out.get();
    sample_attention(gpu, d, {s.q.get(), s.k.get(), s.v.get(), s.dout.get(), result, backward}, b);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
