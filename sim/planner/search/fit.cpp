#include "sim/planner/search/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/memory.h"
#include "sim/cost/params.h"
#include "sim/domain/layout.h"
#include "sim/domain/legality.h"
#include "sim/domain/workload_shape.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

struct Change {
  std::string text;
  Scenario scenario;
};

std::vector<Change> changes(const Scenario& s) {
  std::vector<Change> all;
  const auto add = [&](std::string text, auto edit) {
    Change c{std::move(text), s};
    edit(c.scenario);
    all.push_back(std::move(c));
  };
  const Recompute usual{RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::layernorm}};
  if (s.recompute.granularity == RecomputeGranularity::none && s.model.has_moe())
    add("--set 'recompute={granularity: selective, modules: [moe_act, layernorm]}'",
        [&](Scenario& x) { x.recompute = usual; });
  if (s.recompute.granularity != RecomputeGranularity::full)
    add("--set 'recompute={granularity: full}'", [](Scenario& x) { x.recompute = {RecomputeGranularity::full, {}}; });
  if (s.parallelism.vpp > 2)
    add(fmt::format("--set parallelism.vpp={}", s.parallelism.vpp / 2), [](Scenario& x) { x.parallelism.vpp /= 2; });
  if (s.batch.micro_batch_size % 2 == 0)
    add(fmt::format("--set batch.mbs={}", s.batch.micro_batch_size / 2),
        [](Scenario& x) { x.batch.micro_batch_size /= 2; });
  using Size = std::int64_t Parallelism::*;
  for (const auto& [name, size] : {std::pair<const char*, Size>{"ep", &Parallelism::ep},
                                   {"tp", &Parallelism::tp},
                                   {"pp", &Parallelism::pp},
                                   {"cp", &Parallelism::cp}}) {
    const std::int64_t twice = 2 * s.parallelism.*size;
    add(fmt::format("--set parallelism.{}={}", name, twice), [&, field = size](Scenario& x) {
      x.parallelism.*field = twice;
      x.parallelism.sequence_parallel = x.parallelism.tp > 1;
    });
  }
  return all;
}

} // namespace

std::string flops_layout(const Scenario& s, std::int64_t num_stages) {
  return to_layout(flops_partition(s.model, s.batch.seq_length, s.flops_convention, num_stages));
}

LegalTrial legal_with_layout(Scenario s, const std::string& stages) {
  const Parallelism& p = s.parallelism;
  LayoutSpec layout;
  if (p.pp > 1) layout.layout = stages;
  LegalityInput in{s.model, p, s.batch, layout, s.schedule, s.recompute};
  in.cluster_gpus = s.cluster.num_gpus();
  in.dispatcher = s.dispatcher;
  const Verdict verdict = check_legality(in, false);
  if (!verdict.legal()) return {std::nullopt, verdict.violations.front().key};
  s.partition = verdict.partition;
  if (check_schedule_spec(s.schedule, static_cast<std::int32_t>(p.pp), static_cast<std::int32_t>(p.vpp),
                          static_cast<std::int32_t>(s.num_micro_batches())))
    return {std::nullopt, "schedule.name"};
  if (s.model.has_moe() && !check_routing(s.routing, workload_shape(s.model, p, s.batch, s.steps)).empty())
    return {std::nullopt, "routing"};
  return {std::move(s), ""};
}

std::optional<Scenario> legal_with_flops_layers(Scenario s) {
  const std::int64_t stages = s.parallelism.num_stages();
  if (stages > s.model.num_layers()) return std::nullopt;
  const std::string layout = flops_layout(s, stages);
  return legal_with_layout(std::move(s), layout).scenario;
}

MemoryRoom memory_room(const Scenario& s) {
  const Bytes capacity = s.profile.gpu.memory;
  Bytes state;
  for (std::int64_t r = 0; r < s.parallelism.pp; ++r) {
    std::vector<std::int32_t> held;
    for (std::int64_t stage = r; stage < s.parallelism.num_stages(); stage += s.parallelism.pp)
      held.push_back(static_cast<std::int32_t>(stage));
    const RankParams params = rank_params(s.model, s.partition, held, s.parallelism);
    state = std::max(state, model_state(params, s.parallelism, s.optimizer, s.precision).model_state());
  }
  if (state > capacity) return {capacity - state, false};
  const MemoryReport report = memory_report(s, schedule_of(s));
  return {capacity - report.ranks[static_cast<std::size_t>(report.peak_rank)].peak(), true};
}

Bytes free_memory(const Scenario& s) {
  return memory_room(s).free;
}

std::vector<std::string> changes_that_fit(const Scenario& scenario) {
  std::vector<std::string> texts;
  for (Change& c : changes(scenario)) {
    const std::optional<Scenario> s = legal_with_flops_layers(std::move(c.scenario));
    if (s && free_memory(*s).count >= 0) texts.push_back(std::move(c.text));
  }
  return texts;
}

} // namespace tessella
