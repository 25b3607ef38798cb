// Causal grouped-query attention, one head at a time: scores of a whole sequence fit into the cache at these sizes.
#include <Eigen/Core>

#include <algorithm>
#include <cmath>

#include "calib/host/kernels.h"

namespace tessella::calib {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using In = Eigen::Map<const Rows, 0, Stride>;
using Out = Eigen::Map<Rows, 0, Stride>;

// One head's columns of one sequence.
In head(const Tensor& t, std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t dim) {
  return {t.row(first_row) + column, rows, dim, Stride(t.cols())};
}
Out head(Tensor& t, std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t dim) {
  return {t.row(first_row) + column, rows, dim, Stride(t.cols())};
}

struct Columns {
  std::int64_t q;
  std::int64_t k;
  std::int64_t v;
};

Columns columns(const AttentionDims& d, std::int64_t h) {
  const std::int64_t g = h / (d.heads / d.kv_heads);
  return {h * d.head_dim, (d.heads + g) * d.head_dim, (d.heads + d.kv_heads + g) * d.head_dim};
}

float scale_of(const AttentionDims& d) {
  return 1.0F / std::sqrt(static_cast<float>(d.head_dim));
}

Out square(Tensor& t, std::int64_t seq) {
  t.resize(seq, seq);
  return {t.data(), seq, seq, Stride(seq)};
}

// Row i becomes exp(row - lse) over columns 0..i and 0 beyond; returns the log of the sum.
float softmax_row(float* row, std::int64_t i, std::int64_t seq) {
  const float top = *std::max_element(row, row + i + 1);
  float sum = 0.0F;
  for (std::int64_t j = 0; j <= i; ++j) {
    row[j] = std::exp(row[j] - top);
    sum += row[j];
  }
  for (std::int64_t j = 0; j <= i; ++j) row[j] /= sum;
  std::fill(row + i + 1, row + seq, 0.0F);
  return top + std::log(sum);
}

} // namespace

void attention_forward(const AttentionDims& d, const Tensor& qkv, Tensor& out, Tensor& lse, AttentionScratch& s) {
  Out p = square(s.scores, d.seq);
  for (std::int64_t first = 0; first < qkv.rows(); first += d.seq) {
    for (std::int64_t h = 0; h < d.heads; ++h) {
      const Columns c = columns(d, h);
      p.noalias() = head(qkv, first, d.seq, c.q, d.head_dim) * head(qkv, first, d.seq, c.k, d.head_dim).transpose();
      p *= scale_of(d);
      for (std::int64_t i = 0; i < d.seq; ++i) lse.at(first + i, h) = softmax_row(s.scores.row(i), i, d.seq);
      head(out, first, d.seq, c.q, d.head_dim).noalias() = p * head(qkv, first, d.seq, c.v, d.head_dim);
    }
  }
}

void attention_backward(const AttentionDims& d, const Tensor& qkv, const Tensor& lse, const Tensor& out,
                        const Tensor& dout, Tensor& dqkv, AttentionScratch& s) {
  dqkv.set_zero();
  Out p = square(s.scores, d.seq);
  Out g = square(s.grads, d.seq);
  const float scale = scale_of(d);
  for (std::int64_t first = 0; first < qkv.rows(); first += d.seq) {
    for (std::int64_t h = 0; h < d.heads; ++h) {
      const Columns c = columns(d, h);
      const In q = head(qkv, first, d.seq, c.q, d.head_dim);
      const In k = head(qkv, first, d.seq, c.k, d.head_dim);
      const In v = head(qkv, first, d.seq, c.v, d.head_dim);
      const In o = head(out, first, d.seq, c.q, d.head_dim);
      const In go = head(dout, first, d.seq, c.q, d.head_dim);
      p.noalias() = q * k.transpose();
      g.noalias() = go * v.transpose(); // gradient of the probabilities
      for (std::int64_t i = 0; i < d.seq; ++i) {
        float* prob = s.scores.row(i);
        float* grad = s.grads.row(i);
        const float shift = lse.at(first + i, h);
        const float dot = go.row(i).dot(o.row(i)); // = sum of prob * grad
        for (std::int64_t j = 0; j <= i; ++j) {
          prob[j] = std::exp(prob[j] * scale - shift);
          grad[j] = prob[j] * (grad[j] - dot) * scale;
        }
        std::fill(prob + i + 1, prob + d.seq, 0.0F);
        std::fill(grad + i + 1, grad + d.seq, 0.0F);
      }
      head(dqkv, first, d.seq, c.v, d.head_dim).noalias() += p.transpose() * go;
      head(dqkv, first, d.seq, c.q, d.head_dim).noalias() = g * k;
      head(dqkv, first, d.seq, c.k, d.head_dim).noalias() += g.transpose() * q;
    }
  }
}

} // namespace tessella::calib
