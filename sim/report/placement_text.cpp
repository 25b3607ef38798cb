#include "sim/report/placement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

double gap(double load, double bound) {
  return load / bound - 1.0;
}

std::string line(const std::string& layer, const PlacementRow& r) {
  std::string text =
      fmt::format("{:>7}{:>10.4f}{:>9}", layer, r.eplb, fmt::format("{:.1f} %", 100.0 * gap(r.eplb, r.eplb_bound)));
  if (r.moved)
    text += fmt::format("{:>12.4f}{:>10.4f}{:>9}{:>7}{:>7}", r.moved->contiguous, r.moved->migrated,
                        fmt::format("{:.1f} %", 100.0 * gap(r.moved->migrated, r.moved->bound)), r.moved->swaps,
                        r.moved->moved_per_gpu);
  return text + "\n";
}

PlacementRow mean_of(std::span<const PlacementRow> rows) {
  PlacementRow m{0.0, 0.0, {}, {}};
  if (rows.front().moved) m.moved = PlacementRow::Moved{0.0, 0.0, 0.0, 0, 0, {}};
  const auto n = static_cast<double>(rows.size());
  for (const PlacementRow& r : rows) {
    m.eplb += r.eplb / n;
    m.eplb_bound += r.eplb_bound / n;
    if (!r.moved) continue;
    m.moved->contiguous += r.moved->contiguous / n;
    m.moved->migrated += r.moved->migrated / n;
    m.moved->bound += r.moved->bound / n;
    m.moved->swaps += r.moved->swaps;
    m.moved->moved_per_gpu = std::max(m.moved->moved_per_gpu, r.moved->moved_per_gpu);
  }
  return m;
}

std::string verdict_text(const MigrationVerdict& v) {
  return fmt::format("\nmigration: the step goes from {} to {} ({:+.1f} %); one all-to-all of expert state takes {}.\n"
                     "Over {} steps it saves {}: {}. Once every 100 steps it costs {:.2f} % of the time.\n",
                     format_duration(v.step_before), format_duration(v.step_after),
                     100.0 * (v.step_after.seconds() / v.step_before.seconds() - 1.0), format_duration(v.cost),
                     format_count(v.remaining_steps), format_duration(v.benefit()),
                     v.worthwhile() ? "worthwhile" : "not worthwhile", 100.0 * v.overhead(100));
}

} // namespace

std::string placement_text(const PlacementReport& p, std::span<const PlacementRow> rows) {
  std::string text =
      fmt::format("{}: {} experts on {} GPUs, {} replicas for EPLB{}\n\n", printable(p.name), p.experts, p.gpus,
                  p.replicas, p.global_policy ? " (global policy: groups and nodes do not divide)" : "");
  text += fmt::format("{:>7}{:>10}{:>9}", "layer", "eplb", "gap");
  if (rows.front().moved)
    text += fmt::format("{:>12}{:>10}{:>9}{:>7}{:>7}", "contiguous", "migrated", "gap", "swaps", "moved");
  text += "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) text += line(std::to_string(i), rows[i]);
  if (rows.size() > 1) text += line("mean", mean_of(rows));
  text += "\nload of the fullest GPU over the mean; gap: above the lower bound of any placement with as many slots;\n"
          "moved: most experts that one GPU receives\n";
  if (!rows.front().moved)
    text += fmt::format("no contiguous placement and no migration: {} experts do not divide over {} GPUs\n", p.experts,
                        p.gpus);
  if (p.verdict) text += verdict_text(*p.verdict);
  return text;
}

std::string placement_json(const PlacementReport& p, std::span<const PlacementRow> rows) {
  Json layers = Json::array();
  for (const PlacementRow& r : rows) {
    Json layer = {{"eplb", {{"max_over_mean", r.eplb}, {"gap", gap(r.eplb, r.eplb_bound)}, {"expert_at", r.eplb_at}}}};
    if (r.moved) {
      layer["contiguous"] = r.moved->contiguous;
      layer["migrated"] = {{"max_over_mean", r.moved->migrated},
                           {"gap", gap(r.moved->migrated, r.moved->bound)},
                           {"swaps", r.moved->swaps},
                           {"moved_per_gpu", r.moved->moved_per_gpu},
                           {"expert_at", r.moved->expert_at}};
    }
    layers.push_back(std::move(layer));
  }
  Json root = {{"name", p.name},
               {"experts", p.experts},
               {"gpus", p.gpus},
               {"replicas", p.replicas},
               {"policy", p.global_policy ? "global" : "hierarchical"},
               {"layers", std::move(layers)}};
  if (p.verdict)
    root["migration"] = {{"step_before_s", to_seconds(p.verdict->step_before)},
                         {"step_after_s", to_seconds(p.verdict->step_after)},
                         {"cost_s", to_seconds(p.verdict->cost)},
                         {"benefit_s", to_seconds(p.verdict->benefit())},
                         {"worthwhile", p.verdict->worthwhile()}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
