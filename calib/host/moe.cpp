// Router, permutation and their backwards.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calib/host/kernels.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

void add_scaled(const float* in, float factor, float* out, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) out[j] += factor * in[j];
}

// The k largest of a row, largest first.
void select(const float* row, std::int64_t experts, std::int64_t topk, std::int32_t* chosen) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + topk, order.end(),
                    [row](std::int32_t a, std::int32_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
  std::copy_n(order.begin(), topk, chosen);
}

void softmax_of_chosen(const float* row, const std::int32_t* chosen, std::int64_t topk, float* weights) {
  float top = row[chosen[0]];
  for (std::int64_t k = 1; k < topk; ++k) top = std::max(top, row[chosen[k]]);
  float sum = 0.0F;
  for (std::int64_t k = 0; k < topk; ++k) sum += weights[k] = std::exp(row[chosen[k]] - top);
  for (std::int64_t k = 0; k < topk; ++k) weights[k] /= sum;
}

// Counting sort by expert.
void order_rows(Routing& r, std::int64_t experts) {
  r.tokens.assign(static_cast<std::size_t>(experts), 0);
  for (const std::int32_t e : r.experts) ++r.tokens[static_cast<std::size_t>(e)];
  std::vector<std::int64_t> next(static_cast<std::size_t>(experts), 0);
  for (std::size_t e = 1; e < next.size(); ++e) next[e] = next[e - 1] + r.tokens[e - 1];
  r.source.resize(r.experts.size());
  for (std::size_t i = 0; i < r.experts.size(); ++i)
    r.source[static_cast<std::size_t>(next[static_cast<std::size_t>(r.experts[i])]++)] = static_cast<std::int32_t>(i);
}

std::int64_t token_of(const Routing& r, std::int64_t row) {
  return r.source[static_cast<std::size_t>(row)] / r.topk;
}

float weight_of(const Routing& r, std::int64_t row) {
  return r.weights[static_cast<std::size_t>(r.source[static_cast<std::size_t>(row)])];
}

} // namespace

void route(const Tensor& logits, std::int64_t topk, std::span<const std::int32_t> forced, Routing& r) {
  r.topk = topk;
  r.experts.resize(static_cast<std::size_t>(logits.rows() * topk));
  r.weights.resize(r.experts.size());
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    std::int32_t* chosen = r.experts.data() + i * topk;
    select(logits.row(i), logits.cols(), topk, chosen);
    if (!forced.empty()) std::copy_n(forced.data() + i * topk, topk, chosen);
    softmax_of_chosen(logits.row(i), chosen, topk, r.weights.data() + i * topk);
  }
  order_rows(r, logits.cols());
}

void route_backward(const Routing& r, std::span<const float> dweights, Tensor& dlogits) {
  dlogits.set_zero();
  for (std::int64_t i = 0; i < dlogits.rows(); ++i) {
    const float* w = r.weights.data() + i * r.topk;
    const float* dw = dweights.data() + i * r.topk;
    float dot = 0.0F;
    for (std::int64_t k = 0; k < r.topk; ++k) dot += w[k] * dw[k];
    for (std::int64_t k = 0; k < r.topk; ++k)
      dlogits.at(i, r.experts[static_cast<std::size_t>(i * r.topk + k)]) = w[k] * (dw[k] - dot);
  }
}

void permute(const Tensor& x, const Routing& r, Tensor& rows) {
  for (std::int64_t i = 0; i < rows.rows(); ++i) std::copy_n(x.row(token_of(r, i)), x.cols(), rows.row(i));
}

void unpermute(const Tensor& rows, const Routing& r, Tensor& y) {
  y.set_zero();
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    add_scaled(rows.row(i), weight_of(r, i), y.row(token_of(r, i)), y.cols());
}

void permute_backward(const Tensor& drows, const Routing& r, Tensor& dx) {
  dx.set_zero();
  for (std::int64_t i = 0; i < drows.rows(); ++i) add_scaled(drows.row(i), 1.0F, dx.row(token_of(r, i)), dx.cols());
}

void unpermute_backward(const Tensor& dy, const Tensor& rows, const Routing& r, Tensor& drows,
                        std::span<float> dweights) {
  const std::int64_t h = dy.cols();
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const float* g = dy.row(token_of(r, i));
    const float* in = rows.row(i);
    float* out = drows.row(i);
    const float weight = weight_of(r, i);
    float dot = 0.0F;
    for (std::int64_t j = 0; j < h; ++j) {
      dot += in[j] * g[j];
      out[j] = weight * g[j];
    }
    dweights[static_cast<std::size_t>(r.source[static_cast<std::size_t>(i)])] = dot;
  }
}

void scatter_rows(const Tensor& in, std::span<const std::int64_t> to, Tensor& out) {
  for (std::size_t r = 0; r < to.size(); ++r)
    std::copy_n(in.row(static_cast<std::int64_t>(r)), in.cols(), out.row(to[r]));
}

void gather_rows(const Tensor& out, std::span<const std::int64_t> to, Tensor& in) {
  for (std::size_t r = 0; r < to.size(); ++r)
    std::copy_n(out.row(to[r]), out.cols(), in.row(static_cast<std::int64_t>(r)));
}

} // namespace tessella::calib
