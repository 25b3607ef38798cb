// Embedding, loss and optimizer.
#include <cmath>

#include "calib/host/cases.h"
#include "calib/host/kernels.h"
#include "calib/host/state_case.h"

namespace tessella::calib {
namespace {

struct Ends {
  Tensor table;
  Tensor rows;
  Tensor out;
  std::vector<std::int32_t> ids;
  std::vector<float> lse;
  std::size_t bytes() const { return table.bytes() + rows.bytes() + out.bytes(); }
};

struct OptimizerState {
  Tensor params;
  Tensor grads;
  Tensor mean;
  Tensor variance;
  Tensor before[4];
  std::size_t bytes() const { return params.bytes() + grads.bytes() + mean.bytes() + variance.bytes(); }
};

std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t limit, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_random(values, seed);
  std::vector<std::int32_t> ids;
  for (const float v : values)
    ids.push_back(static_cast<std::int32_t>((v + 1.0F) * 0.5F * static_cast<float>(limit)) %
                  static_cast<std::int32_t>(limit));
  return ids;
}

double log_sum(const Tensor& logits, std::int64_t i) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < logits.cols(); ++j) sum += std::exp(static_cast<double>(logits.at(i, j)));
  return std::log(sum);
}

constexpr AdamStep kStep{1e-3F, 0.9F, 0.95F, 1e-8F, 1.0F, 3};

double adam_reference(const OptimizerState& s, std::int64_t i) {
  const auto x = [&](int which) { return static_cast<double>(s.before[which].at(0, i)); };
  const double b1 = static_cast<double>(kStep.beta1);
  const double b2 = static_cast<double>(kStep.beta2);
  const double m = b1 * x(2) + (1.0 - b1) * x(1);
  const double v = b2 * x(3) + (1.0 - b2) * x(1) * x(1);
  const double step = m / (1.0 - std::pow(b1, 3.0)) / (std::sqrt(v / (1.0 - std::pow(b2, 3.0))) + 1e-8);
  return x(0) - static_cast<double>(kStep.rate) * step;
}

} // namespace

std::unique_ptr<OpCase> embedding_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t cols = s.dim("cols");
  const std::int64_t vocab = s.dim("vocab");
  const bool lookup = s.kernel == "lookup";
  HostOp<Ends> op;
  op.work.bytes = (lookup ? 4.0 : 10.0) * static_cast<double>(rows * cols);
  op.make = [=](std::uint64_t seed) {
    Ends e;
    e.table = lookup ? random_tensor(vocab, cols, seed) : Tensor(vocab, cols);
    e.rows = lookup ? poisoned(rows, cols) : random_tensor(rows, cols, seed + 100);
    e.ids = random_ids(rows, vocab, seed + 200);
    return e;
  };
  if (lookup) {
    op.run = [](Ends& e) { embedding_lookup(e.table, e.ids, e.rows); };
    op.check = [](Ends& e) {
      return relative_error(e.rows, [&](auto i, auto j) {
        return static_cast<double>(e.table.at(e.ids[static_cast<std::size_t>(i)], j));
      });
    };
  } else {
    op.run = [](Ends& e) { embedding_scatter_add(e.rows, e.ids, e.table); };
    op.check = [](Ends& e) {
      return relative_error(e.table, [&](auto i, auto j) {
        double sum = 0.0;
        for (std::size_t r = 0; r < e.ids.size(); ++r)
          if (e.ids[r] == i) sum += static_cast<double>(e.rows.at(static_cast<std::int64_t>(r), j));
        return sum;
      });
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> loss_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t vocab = s.dim("vocab");
  const bool backward = s.kernel == "loss_bwd";
  HostOp<Ends> op;
  op.work.bytes = (backward ? 4.0 : 6.0) * static_cast<double>(rows * vocab);
  op.make = [=](std::uint64_t seed) {
    Ends e;
    e.rows = random_tensor(rows, vocab, seed);
    e.out = poisoned(rows, vocab);
    e.ids = random_ids(rows, vocab, seed + 100);
    e.lse.resize(static_cast<std::size_t>(rows));
    if (backward) cross_entropy_forward(e.rows, e.ids, e.lse);
    return e;
  };
  if (backward) {
    op.run = [](Ends& e) { cross_entropy_backward(e.rows, e.ids, e.lse, 0.5, e.out); };
    op.check = [](Ends& e) {
      std::vector<double> sums;
      for (std::int64_t i = 0; i < e.rows.rows(); ++i) sums.push_back(log_sum(e.rows, i));
      return relative_error(e.out, [&](auto i, auto j) {
        const auto at = static_cast<std::size_t>(i);
        return 0.5 * (std::exp(static_cast<double>(e.rows.at(i, j)) - sums[at]) - (e.ids[at] == j ? 1.0 : 0.0));
      });
    };
  } else {
    op.run = [](Ends& e) { cross_entropy_forward(e.rows, e.ids, e.lse); };
    op.check = [](Ends& e) {
      double worst = 0.0;
      for (std::int64_t i = 0; i < e.rows.rows(); ++i) {
        const double expected = log_sum(e.rows, i);
        worst = std::max(worst, std::abs(static_cast<double>(e.lse[static_cast<std::size_t>(i)]) / expected - 1.0));
      }
      return worst;
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> optimizer_case(const OpShape& s) {
  const std::int64_t params = s.dim("params");
  HostOp<OptimizerState> op;
  op.work.bytes = 34.0 * static_cast<double>(params);
  op.make = [=](std::uint64_t seed) {
    OptimizerState o{random_tensor(1, params, seed),
                     random_tensor(1, params, seed + 100),
                     random_tensor(1, params, seed + 200),
                     random_tensor(1, params, seed + 300),
                     {}};
    for (float& v : o.variance.values()) v = std::abs(v);
    // Copies for the check of set 0 only: they would double the footprint of every other.
    if (seed == 1) {
      o.before[0] = o.params;
      o.before[1] = o.grads;
      o.before[2] = o.mean;
      o.before[3] = o.variance;
    }
    return o;
  };
  op.run = [](OptimizerState& o) {
    AdamStep step = kStep;
    step.clip = squared_norm(o.grads.values()) > 0.0 ? 1.0F : 0.0F;
    adam(step, o.params.values(), o.grads.values(), o.mean.values(), o.variance.values());
  };
  op.check = [](OptimizerState& o) {
    return relative_error(o.params, [&](auto, auto i) { return adam_reference(o, i); });
  };
  return host_case_of(std::move(op));
}

} // namespace tessella::calib
