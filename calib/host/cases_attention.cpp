// Softmax attention, checked against the definition in double precision.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calib/host/cases.h"
#include "calib/host/kernels.h"
#include "calib/host/state_case.h"

namespace tessella::calib {
namespace {

struct AttentionState {
  Tensor qkv;
  Tensor out;
  Tensor lse;
  Tensor dout;
  Tensor dqkv;
  AttentionScratch scratch;
  std::size_t bytes() const { return qkv.bytes() + out.bytes() + lse.bytes() + dout.bytes() + dqkv.bytes(); }
};

// One head in double precision: probabilities, and what follows from them.
class HeadReference {
 public:
  HeadReference(const AttentionDims& d, const Tensor& qkv, std::int64_t head) : d_(d), qkv_(qkv), head_(head) {
    const std::int64_t group = head / (d.heads / d.kv_heads);
    k_ = (d.heads + group) * d.head_dim;
    v_ = (d.heads + d.kv_heads + group) * d.head_dim;
    for (std::int64_t i = 0; i < d.seq; ++i) probabilities_.push_back(row(i));
  }
  double p(std::int64_t i, std::int64_t j) const {
    return probabilities_[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  double q(std::int64_t i, std::int64_t c) const { return element(i, head_ * d_.head_dim + c); }
  double k(std::int64_t i, std::int64_t c) const { return element(i, k_ + c); }
  double v(std::int64_t i, std::int64_t c) const { return element(i, v_ + c); }

 private:
  double element(std::int64_t i, std::int64_t c) const { return static_cast<double>(qkv_.at(i, c)); }
  std::vector<double> row(std::int64_t i) const {
    std::vector<double> scores;
    for (std::int64_t j = 0; j <= i; ++j) {
      double s = 0.0;
      for (std::int64_t c = 0; c < d_.head_dim; ++c) s += q(i, c) * k(j, c);
      scores.push_back(s / std::sqrt(static_cast<double>(d_.head_dim)));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (double& s : scores) sum += s = std::exp(s - top);
    for (double& s : scores) s /= sum;
    scores.resize(static_cast<std::size_t>(d_.seq), 0.0);
    return scores;
  }

  const AttentionDims& d_;
  const Tensor& qkv_;
  std::int64_t head_;
  std::int64_t k_ = 0;
  std::int64_t v_ = 0;
  std::vector<std::vector<double>> probabilities_;
};

Tensor reference_out(const AttentionDims& d, const Tensor& qkv) {
  Tensor out(d.seq, d.out_width());
  for (std::int64_t h = 0; h < d.heads; ++h) {
    const HeadReference ref(d, qkv, h);
    for (std::int64_t i = 0; i < d.seq; ++i)
      for (std::int64_t c = 0; c < d.head_dim; ++c) {
        double sum = 0.0;
        for (std::int64_t j = 0; j <= i; ++j) sum += ref.p(i, j) * ref.v(j, c);
        out.at(i, h * d.head_dim + c) = static_cast<float>(sum);
      }
  }
  return out;
}

// dV = P^T dO; dS = P o (dP - rowsum(dP o P)); dQ = dS K / sqrt(d); dK = dS^T Q / sqrt(d).
void add_head_gradient(const AttentionDims& d, const HeadReference& ref, const Tensor& dout, std::int64_t h,
                       Tensor& dqkv) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(d.head_dim));
  const std::int64_t group = h / (d.heads / d.kv_heads);
  const auto add_to = [&](std::int64_t i, std::int64_t column, double x) {
    dqkv.at(i, column) += static_cast<float>(x);
  };
  for (std::int64_t i = 0; i < d.seq; ++i) {
    std::vector<double> dp(static_cast<std::size_t>(i) + 1, 0.0);
    double mean = 0.0;
    for (std::int64_t j = 0; j <= i; ++j) {
      for (std::int64_t c = 0; c < d.head_dim; ++c)
        dp[static_cast<std::size_t>(j)] += static_cast<double>(dout.at(i, h * d.head_dim + c)) * ref.v(j, c);
      mean += dp[static_cast<std::size_t>(j)] * ref.p(i, j);
    }
    for (std::int64_t j = 0; j <= i; ++j) {
      const double ds = ref.p(i, j) * (dp[static_cast<std::size_t>(j)] - mean) * scale;
      for (std::int64_t c = 0; c < d.head_dim; ++c) {
        add_to(i, h * d.head_dim + c, ds * ref.k(j, c));
        add_to(j, (d.heads + group) * d.head_dim + c, ds * ref.q(i, c));
        add_to(j, (d.heads + d.kv_heads + group) * d.head_dim + c,
               ref.p(i, j) * static_cast<double>(dout.at(i, h * d.head_dim + c)));
      }
    }
  }
}

Tensor reference_gradient(const AttentionDims& d, const Tensor& qkv, const Tensor& dout) {
  Tensor dqkv(d.seq, d.qkv_width());
  for (std::int64_t h = 0; h < d.heads; ++h) add_head_gradient(d, HeadReference(d, qkv, h), dout, h, dqkv);
  return dqkv;
}

double error_against(const Tensor& out, const Tensor& expected) {
  return relative_error(out, [&](auto i, auto j) { return static_cast<double>(expected.at(i, j)); });
}

} // namespace

std::unique_ptr<OpCase> attention_case(const OpShape& s) {
  const AttentionDims d{s.dim("heads"), s.dim("kv_heads"), s.dim("qk_dim"), s.dim("seq")};
  if (s.dim("batch") != 1 || s.dim("v_dim") != d.head_dim)
    throw std::invalid_argument("the host's attention takes one sequence, and keys as long as values");
  const bool backward = s.op == "attention_bwd";
  HostOp<AttentionState> op;
  const double pairs = 0.5 * static_cast<double>(d.seq * (d.seq + 1) * d.heads);
  op.work.flops = (backward ? 10.0 : 4.0) * pairs * static_cast<double>(d.head_dim);
  op.work.bytes = (backward ? 2.0 : 1.0) * 2.0 * static_cast<double>(d.seq * (d.qkv_width() + d.out_width()));
  op.make = [d, backward](std::uint64_t seed) {
    AttentionState state{
        random_tensor(d.seq, d.qkv_width(), seed),       poisoned(d.seq, d.out_width()), poisoned(d.seq, d.heads),
        random_tensor(d.seq, d.out_width(), seed + 100), poisoned(d.seq, d.qkv_width()), {}};
    if (backward) attention_forward(d, state.qkv, state.out, state.lse, state.scratch);
    return state;
  };
  if (backward) {
    op.run = [d](AttentionState& a) { attention_backward(d, a.qkv, a.lse, a.out, a.dout, a.dqkv, a.scratch); };
    op.check = [d](AttentionState& a) { return error_against(a.dqkv, reference_gradient(d, a.qkv, a.dout)); };
  } else {
    op.run = [d](AttentionState& a) { attention_forward(d, a.qkv, a.out, a.lse, a.scratch); };
    op.check = [d](AttentionState& a) { return error_against(a.out, reference_out(d, a.qkv)); };
  }
  return host_case_of(std::move(op));
}

} // namespace tessella::calib
