#include "sim/planner/search/search_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/planner/search/fit.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

constexpr double kWorthNaming = 0.03; // shares of the step below it are left out

double gb(Bytes b) {
  return static_cast<double>(b.count) / 1e9;
}

std::string shares(const Scenario& s, const RunResult& run) {
  std::vector<std::pair<double, const char*>> all;
  double steps = 0.0;
  for (const Duration t : run.step_times) steps += t.seconds();
  const double whole = steps * static_cast<double>(s.parallelism.world_size);
  for (int i = 0; i < kNumShares; ++i) {
    const auto share = static_cast<Share>(i);
    all.emplace_back(run.ledger_sum[share].seconds() / whole, name(share));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [fraction, what] : all)
    if (fraction >= kWorthNaming)
      text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", what, 100.0 * fraction);
  return text;
}

std::string grid(const Scenario& s) {
  const Parallelism& p = s.parallelism;
  return fmt::format("TP {} CP {} PP {} VPP {} EP {} ETP {} MBS {}, recompute {}", p.tp, p.cp, p.pp, p.vpp, p.ep, p.etp,
                     s.batch.micro_batch_size, to_text(s.recompute));
}

} // namespace

std::vector<std::string> limits_of(const Scenario& s, const RankedPlan& plan, const std::string& bound_of,
                                   const RunResult& run) {
  std::vector<std::string> all = {"time: " + shares(s, run) + " (mean of all ranks)"};
  const double above = plan.step_time.seconds() / plan.lower_bound.seconds() - 1.0;
  all.push_back(
      fmt::format("bound: {:.1f} % above the least that {} allows any layout of this grid", 100.0 * above, bound_of));
  all.push_back(fmt::format("stages: the slowest takes {:.1f} % more than the mean", 100.0 * run.stage_imbalance));
  all.push_back(
      fmt::format("memory: {:.1f} GB free on pipeline rank {}, the fullest", gb(plan.free), run.memory.peak_rank));
  if (s.model.has_moe() && s.parallelism.ep > 1)
    all.push_back(fmt::format(
        "experts: groups of {} GPUs on {} node{} of {}; {:.1f} % of their exchange is hidden",
        s.parallelism.ep * s.parallelism.etp, plan.expert_group.nodes, plan.expert_group.nodes > 1 ? "s" : "",
        plan.expert_group.leaf_groups > 1 ? fmt::format("{} leaf groups", plan.expert_group.leaf_groups)
                                          : std::string("one leaf group"),
        100.0 * run.ep_hidden_fraction));
  return all;
}

std::string nothing_legal(const Scenario& s, const SearchCounts& n, const std::vector<std::string>& broken) {
  std::string text = fmt::format(
      "none of {} configurations of {} GPUs is legal; the first rule broken, and by how many:", n.enumerated,
      s.parallelism.world_size);
  std::map<std::string, std::int64_t> counts;
  for (const std::string& key : broken) ++counts[key];
  std::vector<std::pair<std::int64_t, std::string>> most;
  for (const auto& [key, count] : counts) most.emplace_back(-count, key);
  std::sort(most.begin(), most.end());
  for (const auto& [count, key] : most) text += fmt::format("\n  {:>8}  {}", -count, key);
  return text;
}

std::string nothing_fits(const Scenario& leanest, Bytes free, const SearchCounts& n) {
  std::string text = fmt::format(
      "none of {} legal configurations of {} GPUs fits into {:.1f} GB: {} exceed it with weights, gradients and "
      "optimizer alone, {} with activations and buffers\n",
      n.legal, leanest.parallelism.world_size, gb(leanest.profile.gpu.memory), n.state_too_large,
      n.legal - n.state_too_large);
  text += fmt::format("the leanest ({}) lacks at least {:.1f} GB per GPU\n", grid(leanest), -gb(free));
  return text + verdict(memory_of(leanest, schedule_of(leanest), 1.0));
}

std::string all_too_hot(const SearchCounts& n) {
  return fmt::format(
      "{} configurations fit at balanced load, but none of the {} simulated holds what its busiest expert "
      "rank receives; `tessella experts` tells what moving or copying experts would even out",
      n.fit, n.simulated);
}

} // namespace tessella
