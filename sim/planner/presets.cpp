#include "sim/planner/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.h"
#include "sim/domain/layout.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

using Chunks = PresetChunks;
using Cut = PresetPartition;

// Sources: DeepSpeed's PipelineModule ("uniform" counts layers) and its 1F1B; Megatron-Core's interleaved 1F1B with and
// without --overlap-moe-expert-parallel-comm --delay-wgrad-compute; DeepSeek-V3, section 3.2.1; Zero Bubble (ZB-V);
// Tessera (OSDI '26), sections 3 and 4: overlap-aware partition, then its bubble optimizer.
constexpr std::array kPresets = {
    Preset{"deepspeed", "layers by count, 1F1B, nothing overlapped but gradients", "1f1b", Chunks::one,
           Cut::layer_count, false, "none"},
    Preset{"megatron_core", "layers by FLOPs, interleaved 1F1B", "interleaved_1f1b", Chunks::experiment, Cut::flops,
           false, "none"},
    Preset{"megatron_core_overlap", "the same with expert all-to-alls behind the other micro-batch", "interleaved_1f1b",
           Chunks::experiment, Cut::flops, true, "none"},
    Preset{"dualpipe", "layers evenly, two directions, weights twice (DeepSeek-V3)", "dualpipe", Chunks::one,
           Cut::uniform, true, "none"},
    Preset{"zero_bubble", "layers evenly, two chunks in a V, weight gradients split off", "zb_v", Chunks::two,
           Cut::uniform, false, "none"},
    Preset{"tessera_static", "partition planned on simulated step time, expert overlap in searched orders",
           "interleaved_1f1b", Chunks::experiment, Cut::planned, true, "none", "align_defer"},
    Preset{"tessera", "tessera_static with the greedy bubble optimizer", "interleaved_1f1b", Chunks::experiment,
           Cut::planned, true, "greedy", "align_defer"},
};

// The scenario with the preset's schedule and chunks; its partition is not yet the preset's.
Scenario with_schedule(const Preset& preset, Scenario s) {
  const std::int64_t chunks = s.parallelism.vpp;
  if (preset.chunks == Chunks::one) s.parallelism.vpp = 1;
  if (preset.chunks == Chunks::two) s.parallelism.vpp = 2;
  if (s.parallelism.vpp != chunks) s.schedule.microbatch_group_size.reset();
  s.schedule.name = preset.schedule;
  if (preset.schedule == "interleaved_1f1b" && s.parallelism.vpp == 1) s.schedule.name = "1f1b";
  const bool pairs_itself = find_schedule(s.schedule.name)->has_pairs;
  s.schedule.overlap_moe_expert_parallel_comm = preset.overlaps && !pairs_itself && s.parallelism.ep > 1;
  s.schedule.delay_wgrad_compute = s.schedule.overlap_moe_expert_parallel_comm;
  s.overlap = {};
  s.overlap.scheduler = preset.pairs;
  s.bubble_filler.policy = preset.filler;
  return s;
}

double share(const RunResult& r, std::initializer_list<Share> shares) {
  Duration sum;
  for (const Share s : shares) sum += r.ledger_sum[s];
  return sum.seconds() / r.ledger_sum.total().seconds();
}

PresetRow row_of(const Preset& preset, const Scenario& s, const RunOptions& options) {
  const RunResult r = simulate(s, options);
  PresetRow row;
  row.schedule = s.schedule.name + (s.schedule.overlap_moe_expert_parallel_comm ? " + ep overlap" : "");
  row.name = preset.name;
  row.layout = to_layout(s.partition);
  row.step_time = r.step_time;
  row.mfu = r.mfu;
  row.bubble = share(r, {Share::bubble_warmup, Share::bubble_drain, Share::bubble_dependency});
  row.exposed =
      share(r, {Share::exposed_ep, Share::exposed_tp, Share::exposed_cp, Share::exposed_pp, Share::exposed_dp});
  row.exposed_ep = share(r, {Share::exposed_ep});
  row.peak = r.memory.ranks[static_cast<std::size_t>(r.memory.peak_rank)].peak();
  row.capacity = r.memory.capacity;
  row.lower_bound = certify(s).lower_bound;
  return row;
}

} // namespace

std::span<const Preset> preset_table() {
  return kPresets;
}

const Preset* find_preset(std::string_view name) {
  const auto* found = std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
  return found == kPresets.end() ? nullptr : &*found;
}

std::optional<std::string> preset_problem(const Preset& preset, const Scenario& scenario) {
  const Scenario s = with_schedule(preset, scenario);
  const Parallelism& p = s.parallelism;
  if (p.num_stages() > s.model.num_layers())
    return fmt::format("{} stages and only {} layers", p.num_stages(), s.model.num_layers());
  const auto illegal =
      check_schedule_spec(s.schedule, static_cast<std::int32_t>(p.pp), static_cast<std::int32_t>(p.vpp),
                          static_cast<std::int32_t>(s.num_micro_batches()));
  if (!illegal) return std::nullopt;
  if (!illegal->nearest) return illegal->rule;
  return fmt::format("{}; nearest {}: {}", illegal->rule, illegal->parameter, *illegal->nearest);
}

Scenario apply_preset(const Preset& preset, const Scenario& scenario, unsigned threads) {
  Scenario s = with_schedule(preset, scenario);
  const std::int64_t stages = s.parallelism.num_stages();
  s.partition = uniform_partition(s.model, stages);
  if (preset.partition == Cut::layer_count) s.partition = layer_count_partition(s.model, stages);
  if (preset.partition == Cut::flops)
    s.partition = flops_partition(s.model, s.batch.seq_length, s.flops_convention, stages);
  if (preset.partition == Cut::planned) {
    Scenario still = s; // the planner decides on the static plan; the filler comes after
    still.bubble_filler.policy = "none";
    PlanOptions options;
    options.threads = threads;
    s.partition = make_plan(still, options).best.partition;
  }
  return s;
}

std::vector<PresetRow> compare_presets(std::span<const Preset* const> presets, const Scenario& scenario,
                                       const RunOptions& options) {
  std::vector<PresetRow> rows;
  for (const Preset* preset : presets) {
    PresetRow row;
    row.problem = preset_problem(*preset, scenario);
    if (!row.problem) {
      try {
        row = row_of(*preset, apply_preset(*preset, scenario, options.threads), options);
      } catch (const InfeasiblePlan& e) {
        row.problem = e.what();
      }
    }
    row.name = preset->name;
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace tessella
