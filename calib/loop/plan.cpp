#include "calib/loop/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

// `total` split in proportion to `shares` into whole numbers, largest remainders first.
std::vector<std::int64_t> split(std::int64_t total, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::int64_t> parts;
  std::vector<std::pair<double, std::size_t>> rest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = static_cast<double>(total) * shares[i] / sum;
    parts.push_back(static_cast<std::int64_t>(std::floor(exact)));
    rest.emplace_back(std::floor(exact) - exact, i);
  }
  std::sort(rest.begin(), rest.end());
  const std::int64_t missing = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < missing; ++i) ++parts[rest[static_cast<std::size_t>(i)].second];
  return parts;
}

// Rows of one micro-batch per expert, for the given plan.
std::vector<std::int64_t> rows_per_expert(const LoopModel& m, const LoopPlan& plan) {
  const auto local = static_cast<std::size_t>(m.experts / plan.ep);
  std::vector<double> shares;
  for (int e = 0; e < plan.ep; ++e)
    shares.insert(shares.end(), local, plan.loads.empty() ? 1.0 : plan.loads[static_cast<std::size_t>(e)]);
  return split(m.seq * m.topk, shares);
}

LoopPlan pipeline(const std::string& name, const std::string& schedule, int micro_batches, std::vector<int> layers) {
  LoopPlan p;
  p.name = name;
  p.schedule = schedule;
  p.pp = 2;
  p.micro_batches = micro_batches;
  p.layers = std::move(layers);
  return p;
}

LoopPlan experts(const std::string& name, int micro_batches, int layers, std::vector<double> loads) {
  LoopPlan p;
  p.name = name;
  p.ep = 2;
  p.micro_batches = micro_batches;
  p.layers = {layers};
  p.loads = std::move(loads);
  return p;
}

} // namespace

Model to_model(const LoopModel& m) {
  Model model;
  model.name = "closed_loop";
  model.hidden_size = m.hidden;
  model.vocab_size = m.vocab;
  GroupedQueryAttention attention;
  attention.heads = m.heads;
  attention.kv_heads = m.kv_heads;
  attention.head_dim = m.head_dim;
  MoeFfn ffn;
  ffn.num_experts = m.experts;
  ffn.router_topk = m.topk;
  ffn.moe_ffn_hidden_size = m.expert_ffn;
  model.kinds = {{"moe", attention, ffn}};
  model.layers.assign(static_cast<std::size_t>(m.layers), 0);
  model.source = "the model that tessella-calib validate executes";
  return model;
}

std::vector<LoopPlan> default_plans(const LoopModel& m, int ranks) {
  const int n = static_cast<int>(m.layers);
  std::vector<LoopPlan> plans;
  if (ranks < 2) return plans;
  const std::vector<int> even = {n / 2, n - n / 2};
  const std::vector<int> chunks(static_cast<std::size_t>(n), 1);
  plans.push_back(pipeline("1f1b_m2", "1f1b", 2, even));
  plans.push_back(pipeline("1f1b_m6", "1f1b", 6, even));
  plans.push_back(pipeline("gpipe_m4", "gpipe", 4, even));
  plans.push_back(pipeline("1f1b_m4_uneven", "1f1b", 4, {1, n - 1}));
  plans.push_back(pipeline("interleaved_m2", "interleaved_1f1b", 2, chunks));
  plans.push_back(pipeline("interleaved_m4", "interleaved_1f1b", 4, chunks));
  plans.push_back(experts("ep2_m2", 2, n, {}));
  plans.push_back(experts("ep2_m2_skewed", 2, n, {1.5, 0.5}));
  if (ranks < 4) return plans;
  LoopPlan both = pipeline("1f1b_m4_ep2_skewed", "1f1b", 4, even);
  both.ep = 2;
  both.loads = {1.5, 0.5};
  plans.push_back(both);
  both = pipeline("interleaved_m4_ep2", "interleaved_1f1b", 4, chunks);
  both.ep = 2;
  plans.push_back(both);
  return plans;
}

std::string layout_text(const LoopPlan& plan) {
  std::string text = "E";
  for (std::size_t s = 0; s < plan.layers.size(); ++s) {
    if (s > 0) text += '|';
    text.append(static_cast<std::size_t>(plan.layers[s]), 't');
  }
  text += 'L';
  return text;
}

std::vector<std::int32_t> forced_experts(const LoopModel& m, const LoopPlan& plan) {
  std::vector<std::int64_t> left = rows_per_expert(m, plan);
  std::vector<std::int32_t> chosen;
  for (std::int64_t token = 0; token < m.seq; ++token) {
    // The experts with most rows left: no expert twice, and the rest stays feasible.
    std::vector<std::int32_t> order(left.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&left](std::int32_t a, std::int32_t b) {
      return left[static_cast<std::size_t>(a)] > left[static_cast<std::size_t>(b)];
    });
    for (std::int64_t k = 0; k < m.topk; ++k) {
      const std::int32_t e = order[static_cast<std::size_t>(k)];
      if (--left[static_cast<std::size_t>(e)] < 0)
        throw InputError(plan.name, "these loads would need a token to choose an expert twice");
      chosen.push_back(e);
    }
  }
  return chosen;
}

std::vector<std::int64_t> received_rows(const LoopModel& m, const LoopPlan& plan) {
  const std::vector<std::int64_t> rows = rows_per_expert(m, plan);
  const std::size_t local = rows.size() / static_cast<std::size_t>(plan.ep);
  std::vector<std::int64_t> received;
  for (std::size_t e = 0; e < rows.size(); e += local)
    received.push_back(plan.ep * std::accumulate(rows.begin() + static_cast<std::ptrdiff_t>(e),
                                                 rows.begin() + static_cast<std::ptrdiff_t>(e + local),
                                                 std::int64_t{0}));
  return received;
}

} // namespace tessella::calib
