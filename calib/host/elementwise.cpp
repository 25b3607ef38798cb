// Norms, activations, rotary positions: bound by memory on a GPU, by arithmetic on one core.
#include <cmath>

#include "calib/host/kernels.h"

namespace tessella::calib {
namespace {

constexpr float kNormEpsilon = 1e-6F;
constexpr float kRopeBase = 10'000.0F;

float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

} // namespace

void rms_norm_forward(const Tensor& x, std::span<const float> gain, Tensor& y, std::span<float> inverse) {
  const std::int64_t h = x.cols();
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const float* in = x.row(i);
    float squares = 0.0F;
    for (std::int64_t j = 0; j < h; ++j) squares += in[j] * in[j];
    const float scale = 1.0F / std::sqrt(squares / static_cast<float>(h) + kNormEpsilon);
    inverse[static_cast<std::size_t>(i)] = scale;
    float* out = y.row(i);
    for (std::int64_t j = 0; j < h; ++j) out[j] = in[j] * scale * gain[static_cast<std::size_t>(j)];
  }
}

void rms_norm_backward(const Tensor& x, std::span<const float> gain, std::span<const float> inverse, const Tensor& dy,
                       Tensor& dx, std::span<float> dgain) {
  const std::int64_t h = x.cols();
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const float* in = x.row(i);
    const float* g = dy.row(i);
    const float scale = inverse[static_cast<std::size_t>(i)];
    float dot = 0.0F;
    for (std::int64_t j = 0; j < h; ++j) {
      const auto at = static_cast<std::size_t>(j);
      dot += gain[at] * g[j] * in[j];
      dgain[at] += g[j] * in[j] * scale;
    }
    const float back = dot * scale * scale * scale / static_cast<float>(h);
    float* out = dx.row(i);
    for (std::int64_t j = 0; j < h; ++j) out[j] = scale * gain[static_cast<std::size_t>(j)] * g[j] - back * in[j];
  }
}

void add(const Tensor& a, const Tensor& b, Tensor& sum) {
  const float* x = a.data();
  const float* y = b.data();
  float* out = sum.data();
  const std::int64_t n = a.size();
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

// Neighbouring columns 2i, 2i+1 of a head turn by position * base^(-2i/dim) (Su et al. 2021, RoFormer).
RopeTable::RopeTable(std::int64_t seq, std::int64_t dim) : cosine(seq, dim / 2), sine(seq, dim / 2) {
  for (std::int64_t i = 0; i < dim / 2; ++i) {
    const float frequency = std::pow(kRopeBase, -2.0F * static_cast<float>(i) / static_cast<float>(dim));
    for (std::int64_t r = 0; r < seq; ++r) {
      cosine.at(r, i) = std::cos(static_cast<float>(r) * frequency);
      sine.at(r, i) = std::sin(static_cast<float>(r) * frequency);
    }
  }
}

void rope(const RopeTable& table, Tensor& x, std::int64_t heads, bool backward) {
  const std::int64_t half = table.cosine.cols();
  const float direction = backward ? -1.0F : 1.0F;
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    const float* cosine = table.cosine.row(r % table.cosine.rows());
    const float* sine = table.sine.row(r % table.sine.rows());
    float* row = x.row(r);
    for (std::int64_t h = 0; h < heads; ++h, row += 2 * half) {
      for (std::int64_t i = 0; i < half; ++i) {
        const float a = row[2 * i];
        const float b = row[2 * i + 1];
        const float s = direction * sine[i];
        row[2 * i] = a * cosine[i] - b * s;
        row[2 * i + 1] = a * s + b * cosine[i];
      }
    }
  }
}

void swiglu_forward(const Tensor& in, Tensor& out) {
  const std::int64_t f = out.cols();
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float* gate = in.row(r);
    const float* up = gate + f;
    float* o = out.row(r);
    for (std::int64_t j = 0; j < f; ++j) o[j] = gate[j] * sigmoid(gate[j]) * up[j];
  }
}

void swiglu_backward(const Tensor& in, const Tensor& dout, Tensor& din) {
  const std::int64_t f = dout.cols();
  for (std::int64_t r = 0; r < dout.rows(); ++r) {
    const float* gate = in.row(r);
    const float* up = gate + f;
    const float* g = dout.row(r);
    float* dgate = din.row(r);
    float* dup = dgate + f;
    for (std::int64_t j = 0; j < f; ++j) {
      const float s = sigmoid(gate[j]);
      dup[j] = g[j] * gate[j] * s;
      dgate[j] = g[j] * up[j] * s * (1.0F + gate[j] * (1.0F - s));
    }
  }
}

} // namespace tessella::calib
