// Router, permutations and row sorting. Rows must come out exactly; their order follows from the routing.
#include <algorithm>
#include <cmath>

#include "calib/host/cases.h"
#include "calib/host/kernels.h"
#include "calib/host/state_case.h"

namespace tessella::calib {
namespace {

struct Permutation {
  Tensor logits;
  Routing routing;
  Tensor tokens; // [n, h]
  Tensor rows;   // [n * topk, h]
  Tensor drows;
  std::vector<float> dweights;
  std::vector<std::int64_t> to;
  std::size_t bytes() const { return logits.bytes() + tokens.bytes() + rows.bytes() + drows.bytes(); }
};

double value(const Tensor& t, std::int64_t i, std::int64_t j) {
  return static_cast<double>(t.at(i, j));
}

// Sum over the k copies of token i: factor(row) * rows[row][j].
template <class Factor>
double gathered(const Permutation& p, std::int64_t i, std::int64_t j, Factor factor) {
  double sum = 0.0;
  for (std::size_t r = 0; r < p.routing.source.size(); ++r)
    if (p.routing.source[r] / p.routing.topk == i)
      sum += factor(p.routing.source[r]) * value(p.rows, static_cast<std::int64_t>(r), j);
  return sum;
}

double weight(const Permutation& p, std::int32_t source) {
  return static_cast<double>(p.routing.weights[static_cast<std::size_t>(source)]);
}

std::int64_t token(const Permutation& p, std::int64_t row) {
  return p.routing.source[static_cast<std::size_t>(row)] / p.routing.topk;
}

// The kernel of `name` with what it writes.
void set_kernel(HostOp<Permutation>& op, const std::string& name) {
  if (name == "permute") {
    op.run = [](Permutation& p) { permute(p.tokens, p.routing, p.rows); };
    op.check = [](Permutation& p) {
      return relative_error(p.rows, [&](auto i, auto j) { return value(p.tokens, token(p, i), j); });
    };
  } else if (name == "unpermute_bwd") {
    op.run = [](Permutation& p) { unpermute_backward(p.tokens, p.rows, p.routing, p.drows, p.dweights); };
    op.check = [](Permutation& p) {
      return relative_error(p.drows, [&](auto i, auto j) {
        return weight(p, p.routing.source[static_cast<std::size_t>(i)]) * value(p.tokens, token(p, i), j);
      });
    };
  } else if (name == "unpermute") {
    op.run = [](Permutation& p) { unpermute(p.rows, p.routing, p.tokens); };
    op.check = [](Permutation& p) {
      return relative_error(p.tokens, [&](auto i, auto j) {
        return gathered(p, i, j, [&](std::int32_t source) { return weight(p, source); });
      });
    };
  } else {
    op.run = [](Permutation& p) { permute_backward(p.rows, p.routing, p.tokens); };
    op.check = [](Permutation& p) {
      return relative_error(p.tokens,
                            [&](auto i, auto j) { return gathered(p, i, j, [](std::int32_t) { return 1.0; }); });
    };
  }
}

// Softmax over the top-k logits of a row, found by sorting.
double chosen_error(const Permutation& p, std::int64_t topk) {
  double worst = 0.0;
  for (std::int64_t i = 0; i < p.logits.rows(); ++i) {
    std::vector<double> row;
    for (std::int64_t e = 0; e < p.logits.cols(); ++e) row.push_back(value(p.logits, i, e));
    std::sort(row.rbegin(), row.rend());
    double sum = 0.0;
    for (std::int64_t k = 0; k < topk; ++k) sum += std::exp(row[static_cast<std::size_t>(k)]);
    for (std::int64_t k = 0; k < topk; ++k) {
      const double expected = std::exp(row[static_cast<std::size_t>(k)]) / sum;
      const auto got = static_cast<double>(p.routing.weights[static_cast<std::size_t>(i * topk + k)]);
      worst = std::max(worst, std::abs(got / expected - 1.0));
    }
  }
  return worst;
}

double routed_gradient(const Permutation& p, std::int64_t i, std::int64_t expert) {
  const auto first = static_cast<std::size_t>(i * p.routing.topk);
  const auto count = static_cast<std::size_t>(p.routing.topk);
  double dot = 0.0;
  for (std::size_t k = first; k < first + count; ++k)
    dot += static_cast<double>(p.routing.weights[k]) * static_cast<double>(p.dweights[k]);
  for (std::size_t k = first; k < first + count; ++k)
    if (p.routing.experts[k] == expert)
      return static_cast<double>(p.routing.weights[k]) * (static_cast<double>(p.dweights[k]) - dot);
  return 0.0;
}

} // namespace

std::unique_ptr<OpCase> permutation_case(const OpShape& s) {
  const std::int64_t n = s.dim("tokens");
  const std::int64_t topk = s.dim("topk");
  const std::int64_t cols = s.dim("cols");
  const std::int64_t experts = s.dim("experts");
  const bool writes_tokens = s.kernel == "unpermute" || s.kernel == "permute_bwd";
  const bool writes_rows = s.kernel == "permute";
  HostOp<Permutation> op;
  op.work.bytes = 2.0 * static_cast<double>((1 + topk) * n * cols);
  op.make = [=](std::uint64_t seed) {
    Permutation p;
    p.logits = random_tensor(n, experts, seed);
    route(p.logits, topk, {}, p.routing);
    p.tokens = writes_tokens ? poisoned(n, cols) : random_tensor(n, cols, seed + 100);
    p.rows = writes_rows ? poisoned(n * topk, cols) : random_tensor(n * topk, cols, seed + 200);
    p.drows = poisoned(s.kernel == "unpermute_bwd" ? n * topk : 0, cols);
    p.dweights.resize(static_cast<std::size_t>(n * topk));
    return p;
  };
  set_kernel(op, s.kernel);
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> sort_case(const OpShape& s) {
  const std::int64_t rows = s.dim("rows");
  const std::int64_t cols = s.dim("cols");
  const bool back = s.kernel == "unsort";
  HostOp<Permutation> op;
  op.work.bytes = 2.0 * 2.0 * static_cast<double>(rows * cols);
  op.make = [=](std::uint64_t seed) {
    Permutation p;
    p.tokens = back ? poisoned(rows, cols) : random_tensor(rows, cols, seed);
    p.rows = back ? random_tensor(rows, cols, seed) : poisoned(rows, cols);
    // As received rows lie: runs from two ranks, sorted by expert by interleaving halves of blocks of 32.
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t block = r / 32 * 32;
      const std::int64_t size = std::min<std::int64_t>(32, rows - block);
      p.to.push_back(block + (r - block + size / 2) % size);
    }
    return p;
  };
  if (back) {
    op.run = [](Permutation& p) { gather_rows(p.rows, p.to, p.tokens); };
    op.check = [](Permutation& p) {
      return relative_error(p.tokens,
                            [&](auto i, auto j) { return value(p.rows, p.to[static_cast<std::size_t>(i)], j); });
    };
  } else {
    op.run = [](Permutation& p) { scatter_rows(p.tokens, p.to, p.rows); };
    op.check = [](Permutation& p) {
      Tensor expected(p.rows.rows(), p.rows.cols());
      for (std::int64_t r = 0; r < p.tokens.rows(); ++r)
        std::copy_n(p.tokens.row(r), p.tokens.cols(), expected.row(p.to[static_cast<std::size_t>(r)]));
      return relative_error(p.rows, [&](auto i, auto j) { return value(expected, i, j); });
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> router_case(const OpShape& s) {
  const std::int64_t n = s.dim("tokens");
  const std::int64_t topk = s.dim("topk");
  const std::int64_t experts = s.dim("experts");
  HostOp<Permutation> op;
  op.work.bytes = 4.0 * static_cast<double>(n * experts);
  op.make = [=](std::uint64_t seed) {
    Permutation p;
    p.logits = random_tensor(n, experts, seed);
    p.dweights.resize(static_cast<std::size_t>(n * topk));
    fill_random(p.dweights, seed + 100);
    if (s.kernel == "topk_bwd") route(p.logits, topk, {}, p.routing);
    p.tokens = poisoned(n, experts);
    return p;
  };
  if (s.kernel == "topk") {
    op.run = [topk](Permutation& p) { route(p.logits, topk, {}, p.routing); };
    op.check = [topk](Permutation& p) { return chosen_error(p, topk); };
  } else {
    op.run = [](Permutation& p) { route_backward(p.routing, p.dweights, p.tokens); };
    op.check = [](Permutation& p) {
      return relative_error(p.tokens, [&](auto i, auto j) { return routed_gradient(p, i, j); });
    };
  }
  return host_case_of(std::move(op));
}

} // namespace tessella::calib
