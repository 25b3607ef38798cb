// Embedding, loss and optimizer.
#include <algorithm>
#include <cmath>

#include "calib/host/kernels.h"
#include "sim/base/check.h"

namespace tessella::calib {

void embedding_lookup(const Tensor& table, std::span<const std::int32_t> ids, Tensor& x) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::copy_n(table.row(ids[i]), table.cols(), x.row(static_cast<std::int64_t>(i)));
}

void embedding_scatter_add(const Tensor& dx, std::span<const std::int32_t> ids, Tensor& dtable) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float* in = dx.row(static_cast<std::int64_t>(i));
    float* out = dtable.row(ids[i]);
    for (std::int64_t j = 0; j < dx.cols(); ++j) out[j] += in[j];
  }
}

double cross_entropy_forward(const Tensor& logits, std::span<const std::int32_t> targets, std::span<float> lse) {
  double loss = 0.0;
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    const float* row = logits.row(i);
    const float top = *std::max_element(row, row + logits.cols());
    float sum = 0.0F;
    for (std::int64_t j = 0; j < logits.cols(); ++j) sum += std::exp(row[j] - top);
    const auto at = static_cast<std::size_t>(i);
    lse[at] = top + std::log(sum);
    loss += static_cast<double>(lse[at] - row[targets[at]]);
  }
  return loss / static_cast<double>(logits.rows());
}

void cross_entropy_backward(const Tensor& logits, std::span<const std::int32_t> targets, std::span<const float> lse,
                            double scale, Tensor& dlogits) {
  const auto factor = static_cast<float>(scale);
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float* row = logits.row(i);
    float* out = dlogits.row(i);
    for (std::int64_t j = 0; j < logits.cols(); ++j) out[j] = factor * std::exp(row[j] - lse[at]);
    out[targets[at]] -= factor;
  }
}

double squared_norm(std::span<const float> values) {
  // Eight partial sums: exact enough, and the loop vectorises.
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t j = 0; j < 8; ++j)
      sums[j] += static_cast<double>(values[i + j]) * static_cast<double>(values[i + j]);
  for (; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double total = 0.0;
  for (const double s : sums) total += s;
  return total;
}

void adam(const AdamStep& a, std::span<float> params, std::span<float> grads, std::span<float> mean,
          std::span<float> variance) {
  const float fix1 = 1.0F / (1.0F - std::pow(a.beta1, static_cast<float>(a.step)));
  const float fix2 = 1.0F / (1.0F - std::pow(a.beta2, static_cast<float>(a.step)));
  for (std::size_t i = 0; i < params.size(); ++i) {
    const float g = grads[i] * a.clip;
    mean[i] = a.beta1 * mean[i] + (1.0F - a.beta1) * g;
    variance[i] = a.beta2 * variance[i] + (1.0F - a.beta2) * g * g;
    params[i] -= a.rate * mean[i] * fix1 / (std::sqrt(variance[i] * fix2) + a.epsilon);
    grads[i] = 0.0F;
  }
}

} // namespace tessella::calib
