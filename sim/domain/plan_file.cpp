#include "sim/domain/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/domain/workload_shape.h"

namespace tessella {

double PlanCertificate::gap(Duration step) const {
  return lower_bound.ps == 0 ? 0.0 : static_cast<double>((step - lower_bound).ps) / static_cast<double>(lower_bound.ps);
}

std::string PlanCertificate::statement(Duration step) const {
  const double g = gap(step);
  return g <= 1e-9 ? "optimal" : fmt::format("within {:.1f} % of optimal", 100.0 * g);
}

namespace {

std::int64_t decoder_layers(const Partition& p) {
  return std::accumulate(p.stages.begin(), p.stages.end(), std::int64_t{0},
                         [](std::int64_t n, const StageContent& s) { return n + s.num_layers; });
}

// The first input of the plan that is another file now.
std::optional<std::string> stale_input(const PlanFile& plan, const Scenario& scenario) {
  for (const auto& [file, hash] : scenario.inputs) {
    const auto then = std::find_if(plan.inputs.begin(), plan.inputs.end(),
                                   [&wanted = file](const auto& i) { return i.first == wanted; });
    if (then == plan.inputs.end() || then->second != hash) return file;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> adopt_plan(const PlanFile& plan, const std::string& renew, Scenario& scenario) {
  const Partition& p = plan.best.partition;
  const auto stages = static_cast<std::int64_t>(p.stages.size());
  if (stages != scenario.parallelism.num_stages())
    return fmt::format("the plan has {} stages, the experiment {}; renew it: {}", stages,
                       scenario.parallelism.num_stages(), renew);
  if (decoder_layers(p) != scenario.model.num_layers())
    return fmt::format("the plan has {} layers, the model {}; renew it: {}", decoder_layers(p),
                       scenario.model.num_layers(), renew);
  if (plan.schedule != scenario.schedule)
    return fmt::format("the plan was made for schedule {} and other options than {}; renew it: {}", plan.schedule.name,
                       scenario.schedule.name, renew);
  if (const auto file = stale_input(plan, scenario))
    return fmt::format("the plan is stale: {} has changed since; renew it: {}", *file, renew);
  if (plan.experts) {
    RoutingSpec routing = scenario.routing;
    routing.expert_at = plan.experts->expert_at;
    const WorkloadShape routing_shape =
        workload_shape(scenario.model, scenario.parallelism, scenario.batch, scenario.steps);
    const auto problems = check_routing(routing, routing_shape);
    if (!problems.empty()) return fmt::format("{}; renew it: {}", problems.front().message, renew);
    if (scenario.expert_migration.method == MigrationMethod::swap &&
        static_cast<std::int64_t>(routing.expert_at.front().size()) > routing_shape.num_experts)
      return "the plan has replicas of experts, and expert_migration swap moves experts that have none; use replicate";
    scenario.routing = std::move(routing);
  }
  scenario.partition = p;
  scenario.overlap = {plan.pairs.scheduler, plan.pairs.orders, {}};
  return std::nullopt;
}

} // namespace tessella
