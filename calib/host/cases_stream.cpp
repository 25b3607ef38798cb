// Kernels that a GPU's memory bounds: norms, activations, additions, rotary positions.
#include <cmath>

#include "calib/host/cases.h"
#include "calib/host/kernels.h"
#include "calib/host/state_case.h"

namespace tessella::calib {
namespace {

struct Rowwise {
  Tensor x;
  Tensor y; // second input, or the gradient that comes in
  Tensor out;
  std::vector<float> gain;
  std::vector<float> inverse;
  std::vector<float> dgain;
  Tensor original; // of what is changed in place, for the check
  std::size_t bytes() const { return x.bytes() + y.bytes() + out.bytes(); }
};

double value(const Tensor& t, std::int64_t i, std::int64_t j) {
  return static_cast<double>(t.at(i, j));
}

// Counted bytes: `passes` over rows x cols bf16 elements.
Work streaming(const OpShape& s, double passes) {
  return {0.0, passes * 2.0 * static_cast<double>(s.dim("rows") * s.dim("cols")), 0};
}

double inverse_rms(const Tensor& x, std::int64_t i) {
  double squares = 0.0;
  for (std::int64_t j = 0; j < x.cols(); ++j) squares += value(x, i, j) * value(x, i, j);
  return 1.0 / std::sqrt(squares / static_cast<double>(x.cols()) + 1e-6);
}

double norm_backward_reference(const Rowwise& r, std::int64_t i, std::int64_t j) {
  const double inv = inverse_rms(r.x, i);
  double dot = 0.0;
  for (std::int64_t c = 0; c < r.x.cols(); ++c)
    dot += static_cast<double>(r.gain[static_cast<std::size_t>(c)]) * value(r.y, i, c) * value(r.x, i, c);
  return inv * static_cast<double>(r.gain[static_cast<std::size_t>(j)]) * value(r.y, i, j) -
         dot * inv * inv * inv / static_cast<double>(r.x.cols()) * value(r.x, i, j);
}

double silu(double x) {
  return x / (1.0 + std::exp(-x));
}

double rope_reference(const Tensor& x, std::int64_t dim, std::int64_t seq, std::int64_t i, std::int64_t j) {
  const std::int64_t pair = (j % dim) / 2;
  const double angle =
      static_cast<double>(i % seq) * std::pow(10'000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
  const std::int64_t even = j / 2 * 2;
  const double a = value(x, i, even);
  const double b = value(x, i, even + 1);
  return j == even ? a * std::cos(angle) - b * std::sin(angle) : a * std::sin(angle) + b * std::cos(angle);
}

} // namespace

std::unique_ptr<OpCase> norm_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t cols = s.dim("cols");
  const bool backward = s.op == "norm_bwd";
  HostOp<Rowwise> op;
  op.work = streaming(s, backward ? 3.0 : 2.0);
  op.make = [=](std::uint64_t seed) {
    Rowwise r;
    r.x = random_tensor(rows, cols, seed);
    r.y = random_tensor(rows, cols, seed + 100);
    r.out = poisoned(rows, cols);
    r.gain.resize(static_cast<std::size_t>(cols));
    fill_random(r.gain, seed + 200);
    r.dgain.assign(r.gain.size(), 0.0F);
    r.inverse.resize(static_cast<std::size_t>(rows));
    if (backward) rms_norm_forward(r.x, r.gain, r.out, r.inverse);
    return r;
  };
  if (backward) {
    op.run = [](Rowwise& r) { rms_norm_backward(r.x, r.gain, r.inverse, r.y, r.out, r.dgain); };
    op.check = [](Rowwise& r) {
      return relative_error(r.out, [&](auto i, auto j) { return norm_backward_reference(r, i, j); });
    };
  } else {
    op.run = [](Rowwise& r) { rms_norm_forward(r.x, r.gain, r.out, r.inverse); };
    op.check = [](Rowwise& r) {
      return relative_error(r.out, [&](auto i, auto j) {
        return value(r.x, i, j) * inverse_rms(r.x, i) * static_cast<double>(r.gain[static_cast<std::size_t>(j)]);
      });
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> activation_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t cols = s.dim("cols");
  const bool backward = s.op == "activation_bwd";
  HostOp<Rowwise> op;
  op.work = streaming(s, backward ? 5.0 : 3.0);
  op.make = [=](std::uint64_t seed) {
    Rowwise r;
    r.x = random_tensor(rows, 2 * cols, seed);
    if (backward) r.y = random_tensor(rows, cols, seed + 100);
    r.out = poisoned(rows, backward ? 2 * cols : cols);
    return r;
  };
  if (backward) {
    op.run = [](Rowwise& r) { swiglu_backward(r.x, r.y, r.out); };
    op.check = [cols](Rowwise& r) {
      return relative_error(r.out, [&](auto i, auto j) {
        const double gate = value(r.x, i, j % cols);
        const double up = value(r.x, i, cols + j % cols);
        const double sigmoid = 1.0 / (1.0 + std::exp(-gate));
        const double slope = j < cols ? up * sigmoid * (1.0 + gate * (1.0 - sigmoid)) : silu(gate);
        return value(r.y, i, j % cols) * slope;
      });
    };
  } else {
    op.run = [](Rowwise& r) { swiglu_forward(r.x, r.out); };
    op.check = [cols](Rowwise& r) {
      return relative_error(r.out, [&](auto i, auto j) { return silu(value(r.x, i, j)) * value(r.x, i, cols + j); });
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> copy_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t cols = s.dim("cols");
  HostOp<Rowwise> op;
  if (s.kernel == "add") {
    op.work = streaming(s, 3.0);
    op.make = [=](std::uint64_t seed) {
      Rowwise r;
      r.x = random_tensor(rows, cols, seed);
      r.y = random_tensor(rows, cols, seed + 100);
      r.out = poisoned(rows, cols);
      return r;
    };
    op.run = [](Rowwise& r) { add(r.x, r.y, r.out); };
    op.check = [](Rowwise& r) {
      return relative_error(r.out, [&](auto i, auto j) { return value(r.x, i, j) + value(r.y, i, j); });
    };
    return host_case_of(std::move(op));
  }
  const std::int64_t dim = s.dim("dim");
  const std::int64_t seq = s.dim("seq");
  op.work = streaming(s, 2.0);
  op.make = [=](std::uint64_t seed) {
    Rowwise r;
    r.x = random_tensor(rows, cols, seed);
    r.original = r.x;
    return r;
  };
  op.run = [table = RopeTable(seq, dim), heads = cols / dim](Rowwise& r) { rope(table, r.x, heads, false); };
  op.check = [=](Rowwise& r) {
    return relative_error(r.x, [&](auto i, auto j) { return rope_reference(r.original, dim, seq, i, j); });
  };
  return host_case_of(std::move(op));
}

} // namespace tessella::calib
