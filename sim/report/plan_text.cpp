#include "sim/report/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

std::string row_text(const PlanRow& row, const PlanRow& best, bool is_best) {
  const double slower = static_cast<double>(row.step_time.ps) / static_cast<double>(best.step_time.ps) - 1.0;
  const std::string memory = row.fits() ? fmt::format("{:.1f}", static_cast<double>(row.free.count) / 1e9)
                                        : fmt::format("short {:.1f}", -static_cast<double>(row.free.count) / 1e9);
  return fmt::format("{} {:<12}{:>11}{:>10}{:>12}{:>12}  {}\n", is_best ? '*' : ' ', printable(row.name),
                     format_duration(row.step_time), is_best ? "" : fmt::format("{:+.1f} %", 100.0 * slower),
                     format_duration(row.bottleneck), memory, to_layout(row.partition));
}

Json layers_json(const StageContent& s) {
  Json layers = Json::array();
  for (std::int32_t l = s.first_layer; l < s.first_layer + s.num_layers; ++l) layers.push_back(l);
  return layers;
}

Json row_json(const PlanRow& row) {
  return {{"step_time_s", to_seconds(row.step_time)},
          {"bottleneck_s", to_seconds(row.bottleneck)},
          {"free_bytes", row.free.count},
          {"layout", to_layout(row.partition)}};
}

} // namespace

std::string plan_text(const PlanFile& plan, const Parallelism& p) {
  std::string text = fmt::format("{}: {} stages on {} pipeline ranks, schedule {}{}\n\n", printable(plan.experiment),
                                 plan.best.partition.stages.size(), p.pp, plan.schedule.name,
                                 plan.schedule.overlap_moe_expert_parallel_comm ? " with expert overlap" : "");
  text += fmt::format("  {:<12}{:>11}{:>10}{:>12}{:>12}  {}\n", "partition", "step time", "to best", "bottleneck",
                      "free GB", "layout");
  for (const PlanRow& row : plan.baselines) text += row_text(row, plan.best, false);
  text += row_text(plan.best, plan.best, true);
  const PlanCertificate& c = plan.certificate;
  text += fmt::format("\n  {}: {} against a lower bound of {} ({})\n", c.statement(plan.best.step_time),
                      format_duration(plan.best.step_time), format_duration(c.lower_bound), c.limited_by);
  text += fmt::format("  bottleneck edge {}: {} solver, radius {}, {} variables, {} after pruning, {:.3f} s\n",
                      c.surrogate_proven ? "proven smallest in the neighbourhood" : "not proven smallest",
                      plan.search.solver, plan.search.radius, format_count(plan.search.variables),
                      format_count(plan.search.variables_pruned), plan.search.wall_s);
  text += fmt::format("  {} distinct pairs, {} simulations\n\n", format_count(plan.search.pairs_distinct),
                      format_count(plan.search.simulations));
  if (plan.experts)
    text += fmt::format("  experts {}: the fullest rank holds {:.3f} of the mean instead of {:.3f}\n",
                        plan.experts->method, plan.experts->load_after, plan.experts->load_before);
  for (const std::string& limit : plan.limits) text += fmt::format("  {}\n", printable(limit));
  for (const PlanWhatIf& w : plan.what_ifs)
    text +=
        fmt::format("  {}: {} ({:+.1f} %)\n", printable(w.change), format_duration(w.step_time),
                    100.0 * (static_cast<double>(w.step_time.ps) / static_cast<double>(plan.best.step_time.ps) - 1.0));
  text += fmt::format("\nMegatron: --pipeline-model-parallel-size {} --pipeline-model-parallel-layout \"{}\"\n", p.pp,
                      to_layout(plan.best.partition));
  return text;
}

std::string plan_json(const PlanFile& plan) {
  Json baselines = Json::object();
  Json rows = Json::object();
  for (const PlanRow& row : plan.baselines) {
    baselines[row.name] = to_seconds(row.step_time);
    rows[row.name] = row_json(row);
  }
  rows[plan.best.name] = row_json(plan.best);
  Json partition = Json::array();
  for (const StageContent& s : plan.best.partition.stages) partition.push_back(layers_json(s));
  Json bounds = Json::object();
  for (const PlanBound& b : plan.certificate.bounds) bounds[b.name] = to_seconds(b.value);
  Json what_ifs = Json::object();
  for (const PlanWhatIf& w : plan.what_ifs) what_ifs[w.change] = to_seconds(w.step_time);
  Json inputs = Json::object();
  for (const auto& [file, sha256] : plan.inputs) inputs[file] = sha256;
  const double gap = plan.certificate.gap(plan.best.step_time);
  const Json root = {
      {"objective_s", to_seconds(plan.best.step_time)},
      {"lower_bound_s", to_seconds(plan.certificate.lower_bound)},
      {"gap", gap},
      {"proven", plan.certificate.surrogate_proven},
      {"statement", plan.certificate.statement(plan.best.step_time)},
      {"baselines", std::move(baselines)},
      {"partition", std::move(partition)},
      {"layout", to_layout(plan.best.partition)},
      {"solver",
       {{"name", plan.search.solver},
        {"wall_s", plan.search.wall_s},
        {"radius", plan.search.radius},
        {"variables", plan.search.variables},
        {"variables_pruned", plan.search.variables_pruned}}},
      {"pairs", {{"distinct", plan.search.pairs_distinct}, {"cached", plan.search.pairs_cached}}},
      {"rows", std::move(rows)},
      {"bounds", std::move(bounds)},
      {"limits", plan.limits},
      {"what_ifs", std::move(what_ifs)},
      {"inputs", std::move(inputs)},
  };
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
