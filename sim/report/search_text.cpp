#include "sim/report/search_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

std::string schedule_text(const ScheduleSpec& s) {
  return s.name + (s.overlap_moe_expert_parallel_comm ? " + ep overlap" : "");
}

Json plan_json(const RankedPlan& plan, std::size_t rank, bool tied) {
  const Parallelism& p = plan.parallelism;
  return {{"rank", rank},
          {"tied_with_first", tied},
          {"step_time_s", to_seconds(plan.step_time)},
          {"lower_bound_s", to_seconds(plan.lower_bound)},
          {"mfu", plan.mfu},
          {"free_bytes", plan.free.count},
          {"tensor_model_parallel_size", p.tp},
          {"context_parallel_size", p.cp},
          {"pipeline_model_parallel_size", p.pp},
          {"num_virtual_stages_per_pipeline_rank", p.vpp},
          {"expert_model_parallel_size", p.ep},
          {"expert_tensor_parallel_size", p.etp},
          {"data_parallel_size", p.dp()},
          {"micro_batch_size", plan.micro_batch_size},
          {"recompute", to_text(plan.recompute)},
          {"schedule", plan.schedule.name},
          {"overlap_moe_expert_parallel_comm", plan.schedule.overlap_moe_expert_parallel_comm},
          {"layout", to_layout(plan.partition)}};
}

} // namespace

std::string search_text(const SearchResult& r) {
  const SearchCounts& n = r.counts;
  std::string text =
      fmt::format("{} configurations, {} legal, {} fit into memory, {} simulated, {} ruled out by their lower bound\n",
                  format_count(n.enumerated), format_count(n.legal), format_count(n.fit), format_count(n.simulated),
                  format_count(n.bounded));
  if (n.not_covered > 0)
    text += fmt::format("{} left out: the profile lacks {}{}\n", format_count(n.not_covered), r.not_covered.front(),
                        r.not_covered.size() > 1 ? fmt::format(" and {} more", r.not_covered.size() - 1) : "");
  text +=
      fmt::format("\n{:>5}{:>12}{:>9}{:>7}{:>9}{:>4}{:>4}{:>4}{:>4}{:>4}{:>4}{:>5}{:>4}  {}\n", "", "step time",
                  "slower", "MFU", "free GB", "TP", "CP", "PP", "VPP", "EP", "ETP", "DP", "MBS", "schedule, recompute");
  const std::size_t ties = r.ties();
  for (std::size_t i = 0; i < r.ranked.size(); ++i) {
    const RankedPlan& x = r.ranked[i];
    const Parallelism& p = x.parallelism;
    const double slower =
        static_cast<double>(x.step_time.ps) / static_cast<double>(r.ranked.front().step_time.ps) - 1.0;
    text += fmt::format("{:>4}{}{:>12}{:>9}{:>7}{:>9.1f}{:>4}{:>4}{:>4}{:>4}{:>4}{:>4}{:>5}{:>4}  {}, {}\n", i + 1,
                        i < ties && ties > 1 ? '=' : ' ', format_duration(x.step_time),
                        i == 0 ? "" : fmt::format("{:+.1f} %", 100.0 * slower), fmt::format("{:.1f}", 100.0 * x.mfu),
                        static_cast<double>(x.free.count) / 1e9, p.tp, p.cp, p.pp, p.vpp, p.ep, p.etp, p.dp(),
                        x.micro_batch_size, schedule_text(x.schedule), to_text(x.recompute));
  }
  if (ties > 1) text += fmt::format("\n= within {:g} % of the fastest: not told apart\n", 100.0 * r.tie);
  return text;
}

std::string search_json(const SearchResult& r) {
  Json plans = Json::array();
  const std::size_t ties = r.ties();
  for (std::size_t i = 0; i < r.ranked.size(); ++i) plans.push_back(plan_json(r.ranked[i], i + 1, i < ties));
  const SearchCounts& n = r.counts;
  const Json root = {{"plans", std::move(plans)},
                     {"ties", ties},
                     {"tie_fraction", r.tie},
                     {"counts",
                      {{"enumerated", n.enumerated},
                       {"legal", n.legal},
                       {"fit", n.fit},
                       {"not_covered", n.not_covered},
                       {"bounded", n.bounded},
                       {"simulated", n.simulated}}},
                     {"not_covered", r.not_covered}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
