// Matrix products, by Eigen on one thread.
#include <Eigen/Core>

#include "calib/host/kernels.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Rows>;
using Out = Eigen::Map<Rows>;

In block(const Tensor& t, std::int64_t first, std::int64_t count) {
  return {t.row(first), count, t.cols()};
}
Out block(Tensor& t, std::int64_t first, std::int64_t count) {
  return {t.row(first), count, t.cols()};
}

std::int64_t experts_of(std::span<const std::int64_t> offsets) {
  return static_cast<std::int64_t>(offsets.size()) - 1;
}

struct Expert {
  std::int64_t first;
  std::int64_t rows;
};

Expert expert(std::span<const std::int64_t> offsets, std::int64_t e) {
  const auto at = static_cast<std::size_t>(e);
  return {offsets[at], offsets[at + 1] - offsets[at]};
}

} // namespace

void linear_forward(const Tensor& x, const Tensor& w, Tensor& y) {
  TSL_CHECK_OP(x.cols(), ==, w.cols());
  block(y, 0, y.rows()).noalias() = block(x, 0, x.rows()) * block(w, 0, w.rows()).transpose();
}

void linear_dgrad(const Tensor& dy, const Tensor& w, Tensor& dx) {
  TSL_CHECK_OP(dy.cols(), ==, w.rows());
  block(dx, 0, dx.rows()).noalias() = block(dy, 0, dy.rows()) * block(w, 0, w.rows());
}

void linear_wgrad(const Tensor& dy, const Tensor& x, Tensor& dw) {
  TSL_CHECK_OP(dy.rows(), ==, x.rows());
  block(dw, 0, dw.rows()).noalias() += block(dy, 0, dy.rows()).transpose() * block(x, 0, x.rows());
}

std::vector<std::int64_t> padded_offsets(std::span<const std::int64_t> tokens) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t t : tokens) offsets.push_back(offsets.back() + (t + kRowTile - 1) / kRowTile * kRowTile);
  return offsets;
}

void grouped_forward(const Tensor& x, std::span<const std::int64_t> offsets, const Tensor& w, Tensor& y) {
  const std::int64_t out = w.rows() / experts_of(offsets);
  for (std::int64_t e = 0; e < experts_of(offsets); ++e) {
    const auto [first, rows] = expert(offsets, e);
    if (rows > 0) block(y, first, rows).noalias() = block(x, first, rows) * block(w, e * out, out).transpose();
  }
}

void grouped_dgrad(const Tensor& dy, std::span<const std::int64_t> offsets, const Tensor& w, Tensor& dx) {
  const std::int64_t out = w.rows() / experts_of(offsets);
  for (std::int64_t e = 0; e < experts_of(offsets); ++e) {
    const auto [first, rows] = expert(offsets, e);
    if (rows > 0) block(dx, first, rows).noalias() = block(dy, first, rows) * block(w, e * out, out);
  }
}

void grouped_wgrad(const Tensor& dy, std::span<const std::int64_t> offsets, const Tensor& x, Tensor& dw) {
  const std::int64_t out = dw.rows() / experts_of(offsets);
  for (std::int64_t e = 0; e < experts_of(offsets); ++e) {
    const auto [first, rows] = expert(offsets, e);
    if (rows > 0) block(dw, e * out, out).noalias() += block(dy, first, rows).transpose() * block(x, first, rows);
  }
}

} // namespace tessella::calib
