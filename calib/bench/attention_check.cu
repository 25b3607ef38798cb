#include <stdexcept>

#include "calib/bench/attention_check.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

// One query row by the definition. Forward: an element of the output; backward: of the query's gradient.
__global__ void attention_samples(SoftmaxDims d, AttentionSample s, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t width = s.backward ? d.qk : d.v;
  const std::int64_t element = sampled_element(sample, d.batch * d.heads * d.seq * width);
  const std::int64_t row = element / width; // head * seq + i
  const std::int64_t head = row / d.seq;
  const std::int64_t kv = head / d.group();
  const std::int64_t i = row % d.seq;
  const auto at = [](const void* t, std::int64_t n) { return static_cast<double>(load_element(t, Element::bf16, n)); };
  const auto score = [&](std::int64_t j) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < d.qk; ++c) sum += at(s.q, row * d.qk + c) * at(s.k, (kv * d.seq + j) * d.qk + c);
    return sum / sqrt(static_cast<double>(d.qk));
  };
  double sum = 0.0; // scores of inputs in [-1, 1) are small: no maximum needed
  double mean = 0.0;
  double weighted = 0.0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const double e = exp(score(j));
    sum += e;
    if (!s.backward) {
      weighted += e * at(s.v, (kv * d.seq + j) * d.v + element % width);
      continue;
    }
    double dp = 0.0;
    for (std::int64_t c = 0; c < d.v; ++c) dp += at(s.dout, row * d.v + c) * at(s.v, (kv * d.seq + j) * d.v + c);
    const double key = at(s.k, (kv * d.seq + j) * d.qk + element % width);
    mean += e * dp;
    weighted += e * dp * key;
    // The term with the mean needs sum_j P key: collected in a second pass below.
  }
  double keys = 0.0;
  if (s.backward)
    for (std::int64_t j = 0; j <= i; ++j) keys += exp(score(j)) * at(s.k, (kv * d.seq + j) * d.qk + element % width);
  got[sample] = at(s.result, element);
  expected[sample] =
      s.backward ? (weighted / sum - mean / sum * keys / sum) / sqrt(static_cast<double>(d.qk)) : weighted / sum;
}

} // namespace

SoftmaxDims softmax_dims(const OpShape& shape) {
  const SoftmaxDims d{shape.dim("batch"),    shape.dim("seq"),    shape.dim("heads"),
                      shape.dim("kv_heads"), shape.dim("qk_dim"), shape.dim("v_dim")};
  if (d.kv_heads == 0 || d.heads % d.kv_heads != 0) throw std::invalid_argument("attention: heads / kv_heads");
  return d;
}

Work attention_work(const SoftmaxDims& d, bool backward) {
  const double pairs = 0.5 * static_cast<double>(d.batch * d.heads) * static_cast<double>(d.seq * d.seq); // causal
  const double dims = static_cast<double>(d.qk + d.v);
  const double tokens = static_cast<double>(d.batch * d.seq);
  Work work;
  work.flops = (backward ? 5.0 : 2.0) * pairs * dims; // as counted for a fused kernel
  work.bytes = (backward ? 2.0 : 1.0) * 2.0 * tokens * dims * static_cast<double>(d.heads + d.kv_heads);
  work.footprint = static_cast<std::size_t>(work.bytes);
  return work;
}

void sample_attention(const GpuContext& gpu, const SoftmaxDims& dims, const AttentionSample& sample,
                      const SampleBuffer& buffer) {
  attention_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(dims, sample, buffer.got(),
                                                                              buffer.expected());
  CALIB_LAUNCHED(attention_samples);
}

} // namespace tessella::calib
