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
          {"expert_group", {{"nodes", plan.expert_group.nodes}, {"leaf_groups", plan.expert_group.leaf_groups}}},
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

double slower(const RankedPlan& plan, const SearchResult& r) {
  return plan.step_time.seconds() / r.ranked.front().step_time.seconds() - 1.0;
}

std::string counts_text(const SearchResult& r) {
  const SearchCounts& n = r.counts;
  std::string text =
      fmt::format("{} configurations, {} legal, {} fit into memory, {} simulated, {} ruled out by their lower bound\n",
                  format_count(n.enumerated), format_count(n.legal), format_count(n.fit), format_count(n.simulated),
                  format_count(n.bounded));
  if (n.not_reached > 0)
    text += fmt::format("interrupted: {} that may be among the best were not simulated\n", format_count(n.not_reached));
  if (n.legal > n.fit)
    text += fmt::format("too large: {} with weights, gradients and optimizer alone, {} with activations\n",
                        format_count(n.state_too_large), format_count(n.legal - n.fit - n.state_too_large));
  if (n.too_hot > 0)
    text += fmt::format("{} left out: the busiest expert rank does not fit\n", format_count(n.too_hot));
  if (n.not_covered > 0)
    text += fmt::format("{} left out: the profile lacks {}{}\n", format_count(n.not_covered), r.not_covered.front(),
                        r.not_covered.size() > 1 ? fmt::format(" and {} more", r.not_covered.size() - 1) : "");
  return text;
}

// How far the ranking can be trusted.
std::string ties_text(const SearchResult& r) {
  std::string text;
  if (r.ties() > 1) text += fmt::format("= within {:g} % of the fastest: not told apart\n", 100.0 * r.tie);
  if (r.error > r.tie && r.within(r.error) > r.ties())
    text +=
        fmt::format("~ within {:.1f} %, by which this profile misses a measured step on median: order not certain\n",
                    100.0 * r.error);
  return text.empty() ? text : "\n" + text;
}

std::string places_text(const SearchResult& r) {
  if (r.of_places.empty()) return "";
  std::string text = "\nfastest with expert groups inside\n";
  for (const RankedPlan& x : r.of_places) {
    const Parallelism& p = x.parallelism;
    text += fmt::format("  {:<20}{:>10}{:>9}  TP {} PP {} VPP {} EP {} ETP {} MBS {}, {}, {}\n", x.expert_group.name(),
                        format_duration(x.step_time), fmt::format("{:+.1f} %", 100.0 * slower(x, r)), p.tp, p.pp, p.vpp,
                        p.ep, p.etp, x.micro_batch_size, schedule_text(x.schedule), to_text(x.recompute));
  }
  return text;
}

std::string limits_text(const SearchResult& r) {
  if (r.limits.empty()) return "";
  std::string text = "\nwhat limits the fastest\n";
  for (const std::string& limit : r.limits) text += "  " + limit + "\n";
  for (const PlanWhatIf& w : r.what_ifs)
    text += fmt::format("  with {}: {} ({:+.1f} %)\n", w.change, format_duration(w.step_time),
                        100.0 * (w.step_time.seconds() / r.ranked.front().step_time.seconds() - 1.0));
  return text;
}

char mark(std::size_t i, const SearchResult& r) {
  if (r.ties() > 1 && i < r.ties()) return '=';
  return i > 0 && i < r.within(r.error) ? '~' : ' ';
}

} // namespace

std::string search_text(const SearchResult& r) {
  std::string text = counts_text(r);
  text +=
      fmt::format("\n{:>5}{:>12}{:>9}{:>7}{:>9}{:>4}{:>4}{:>4}{:>4}{:>4}{:>4}{:>5}{:>4}  {}\n", "", "step time",
                  "slower", "MFU", "free GB", "TP", "CP", "PP", "VPP", "EP", "ETP", "DP", "MBS", "schedule, recompute");
  for (std::size_t i = 0; i < r.ranked.size(); ++i) {
    const RankedPlan& x = r.ranked[i];
    const Parallelism& p = x.parallelism;
    text += fmt::format(
        "{:>4}{}{:>12}{:>9}{:>7}{:>9.1f}{:>4}{:>4}{:>4}{:>4}{:>4}{:>4}{:>5}{:>4}  {}, {}\n", i + 1, mark(i, r),
        format_duration(x.step_time), i == 0 ? "" : fmt::format("{:+.1f} %", 100.0 * slower(x, r)),
        fmt::format("{:.1f}", 100.0 * x.mfu), static_cast<double>(x.free.count) / 1e9, p.tp, p.cp, p.pp, p.vpp, p.ep,
        p.etp, p.dp(), x.micro_batch_size, schedule_text(x.schedule), to_text(x.recompute));
  }
  return text + ties_text(r) + places_text(r) + limits_text(r);
}

std::string search_json(const SearchResult& r) {
  Json plans = Json::array();
  const std::size_t ties = r.ties();
  for (std::size_t i = 0; i < r.ranked.size(); ++i) plans.push_back(plan_json(r.ranked[i], i + 1, i < ties));
  Json places = Json::array();
  for (const RankedPlan& x : r.of_places) {
    places.push_back(plan_json(x, places.size() + 1, slower(x, r) <= r.tie));
    places.back()["expert_groups_inside"] = x.expert_group.name();
  }
  Json what_ifs = Json::array();
  for (const PlanWhatIf& w : r.what_ifs)
    what_ifs.push_back({{"change", w.change}, {"step_time_s", to_seconds(w.step_time)}});
  const SearchCounts& n = r.counts;
  const Json root = {{"plans", std::move(plans)},
                     {"ties", ties},
                     {"tie_fraction", r.tie},
                     {"median_error", r.error},
                     {"places", std::move(places)},
                     {"limits", r.limits},
                     {"what_ifs", std::move(what_ifs)},
                     {"counts",
                      {{"enumerated", n.enumerated},
                       {"legal", n.legal},
                       {"state_too_large", n.state_too_large},
                       {"fit", n.fit},
                       {"not_covered", n.not_covered},
                       {"bounded", n.bounded},
                       {"simulated", n.simulated},
                       {"not_reached", n.not_reached},
                       {"too_hot", n.too_hot}}},
                     {"not_covered", r.not_covered}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
