// A row-major matrix of floats: all that the host kernels need of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessella::calib {

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::int64_t rows, std::int64_t cols) { resize(rows, cols); }

  // Keeps its memory when it shrinks; new elements are zero.
  void resize(std::int64_t rows, std::int64_t cols) {
    rows_ = rows;
    cols_ = cols;
    values_.resize(static_cast<std::size_t>(rows * cols));
  }
  void set_zero() { values_.assign(values_.size(), 0.0F); }

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t size() const { return rows_ * cols_; }
  std::size_t bytes() const { return values_.size() * sizeof(float); }
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  float* row(std::int64_t i) { return values_.data() + i * cols_; }
  const float* row(std::int64_t i) const { return values_.data() + i * cols_; }
  float& at(std::int64_t i, std::int64_t j) { return row(i)[j]; }
  float at(std::int64_t i, std::int64_t j) const { return row(i)[j]; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::vector<float> values_;
};

} // namespace tessella::calib
