#include "sim/report/json.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/domain/balancing.h"
#include "sim/domain/workload_shape.h"
#include "sim/ledger/by_position.h"
#include "sim/report/detail.h"
#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

Json ledger_json(const LedgerRow& sum) {
  const auto total = static_cast<double>(sum.total().ps);
  const auto fraction = [&](Share share) { return total == 0.0 ? 0.0 : static_cast<double>(sum[share].ps) / total; };
  return {
      {"compute", fraction(Share::compute)},
      {"overlapped", fraction(Share::overlapped)},
      {"exposed",
       {{"ep", fraction(Share::exposed_ep)},
        {"tp", fraction(Share::exposed_tp)},
        {"cp", fraction(Share::exposed_cp)},
        {"pp", fraction(Share::exposed_pp)},
        {"dp", fraction(Share::exposed_dp)}}},
      {"imbalance", fraction(Share::imbalance)},
      {"bubble",
       {{"warmup", fraction(Share::bubble_warmup)},
        {"drain", fraction(Share::bubble_drain)},
        {"dependency", fraction(Share::bubble_dependency)}}},
      {"optimizer", fraction(Share::optimizer)},
  };
}

Json memory_json(const MemoryReport& m) {
  return {{"peak_bytes", fullest(m).peak().count},
          {"capacity_bytes", m.capacity.count},
          {"stage", m.peak_rank},
          {"fits", m.fits},
          {"verdict", verdict(m)},
          {"assumptions", m.assumptions}};
}

Json memory_json(const RankMemory& m) {
  return {{"weights_bytes", m.weights.count},      {"gradients_bytes", m.gradients.count},
          {"optimizer_bytes", m.optimizer.count},  {"activations_bytes", m.activations.count},
          {"buffers_bytes", m.buffers.count},      {"peak_bytes", m.peak().count},
          {"in_flight_chunks", m.in_flight_chunks}};
}

Json pipeline_ranks_json(const Scenario& s, const RunResult& r) {
  const std::vector<LedgerRow> ledgers = ledger_by_position(r.rank_rows, s.parallelism.pp);
  Json out = Json::array();
  for (std::size_t p = 0; p < static_cast<std::size_t>(s.parallelism.pp); ++p) {
    Json one = {{"pipeline_rank", p}};
    if (p < ledgers.size()) one["ledger"] = ledger_json(ledgers[p]);
    if (p < r.memory.ranks.size()) one["memory"] = memory_json(r.memory.ranks[p]);
    out.push_back(std::move(one));
  }
  return out;
}

Json stages_json(const RunResult& r) {
  Json out = Json::array();
  for (const StageTime& stage : r.stages)
    out.push_back({{"forward_s", to_seconds(stage.forward)}, {"backward_s", to_seconds(stage.backward)}});
  return out;
}

Json step_times_json(const RunResult& r) {
  Json out = Json::array();
  for (const Duration step : r.step_times) out.push_back(to_seconds(step));
  return out;
}

Json expert_load_json(const Scenario& s, const RunResult& r) {
  Json layers = Json::array();
  Json experts = 0;
  if (!r.load_rows.empty()) {
    layers = moe_layers(s.model);
    experts = workload_shape(s.model, s.parallelism, s.batch).experts_per_rank();
  }
  const RoutingSpec& routing = s.routing;
  return {{"imbalance_mean", r.load_imbalance_mean},
          {"imbalance_max", r.load_imbalance_max},
          {"balancing", routing.balancing ? Json(name(*routing.balancing)) : Json()},
          {"capacity_factor", routing.capacity_factor ? Json(*routing.capacity_factor) : Json()},
          {"pad_to_capacity", routing.pad_to_capacity},
          {"dropped", r.dropped},
          {"experts_per_rank", std::move(experts)},
          {"layers", std::move(layers)},
          {"rows", r.load_rows}};
}

Json traffic_json(const RunResult& r) {
  Json out = Json::array();
  for (const TrafficRow& row : r.traffic)
    out.push_back({{"lane", row.lane},
                   {"collective", row.collective},
                   {"bytes_per_rank", row.bytes},
                   {"alone_s", row.alone_s},
                   {"gb_per_s", row.alone_s > 0.0 ? row.bytes / row.alone_s * 1e-9 : 0.0}});
  return out;
}

Json warnings_json(const Scenario& s, const RunResult& r) {
  Json out = s.warnings;
  for (const std::string& warning : r.warnings) out.push_back(warning);
  return out;
}

Json filler_json(const Scenario& s, const FillSums& f) {
  return {{"policy", s.bubble_filler.policy}, {"fills", f.fills},
          {"deferred", f.deferred},           {"forced", f.forced},
          {"pool_peak", f.pool_peak},         {"pool_peak_bytes", f.pool_peak_bytes},
          {"early_s", to_seconds(f.early)}};
}

Json pairs_json(const PairUse& p) {
  return {{"scheduler", p.scheduler},
          {"source", p.source},
          {"distinct", p.distinct},
          {"given", p.given},
          {"worst_gap", p.worst_gap}};
}

Json capacity_json(const Capacity& c) {
  return {{"stage_imbalance", c.stage_imbalance}, {"pipeline_idle", c.pipeline_idle},
          {"lost_to_stages", c.lost_to_stages},   {"lost_to_routing", c.lost_to_routing},
          {"lost_to_fabric", c.lost_to_fabric},   {"lost_to_schedule", c.lost_to_schedule}};
}

Json phases_json(const RunResult& r) {
  Json out = Json::array();
  for (const RunPhase& p : r.phases)
    out.push_back({{"first_step", p.first_step},
                   {"steps", p.steps},
                   {"events", p.events},
                   {"step_time_s", to_seconds(p.step_time)},
                   {"pause_s", to_seconds(p.pause)}});
  return out;
}

Json adaptation_json(const RunResult& r) {
  Json plans = Json::array();
  for (const Replanning& p : r.replannings)
    plans.push_back({{"step", p.step},
                     {"error", p.error},
                     {"layout", p.layout},
                     {"pause_s", to_seconds(p.pause)},
                     {"gain_s", to_seconds(p.gain())}});
  const MigrationSums& m = r.migration;
  return {{"replannings", std::move(plans)},
          {"migration", {{"moves", m.moves}, {"steps", m.steps}, {"pause_s", to_seconds(m.pause)}}}};
}

Json provenance_json(const ProvenanceShares& shares) {
  Json out = Json::object();
  for (int i = 0; i < kNumProvenances; ++i) out[name(static_cast<Provenance>(i))] = shares[static_cast<std::size_t>(i)];
  return out;
}

Json stage_json(const StageContent& stage) {
  return {{"first_layer", stage.first_layer},
          {"num_layers", stage.num_layers},
          {"mtp_layers", stage.mtp_layers},
          {"embedding", stage.embedding},
          {"loss", stage.loss}};
}

// "none", "full", or what is recomputed: "moe_act layernorm".
std::string recompute_text(const Recompute& recompute) {
  if (recompute.granularity == RecomputeGranularity::none) return "none";
  if (recompute.granularity == RecomputeGranularity::full) return "full";
  std::string text;
  for (const RecomputeModule module : recompute.modules) {
    if (!text.empty()) text += ' ';
    text += name(module);
  }
  return text;
}

// The plan as it ran, in Megatron's names.
Json plan_json(const Scenario& s, const RunResult& r) {
  const Parallelism& p = s.parallelism;
  Json partition = Json::array();
  for (const StageContent& stage : s.partition.stages) partition.push_back(stage_json(stage));
  Json plan = {
      {"experiment", s.name},
      {"model", s.model.name},
      {"topology", s.cluster.name},
      {"profile", s.profile.name},
      {"tensor_model_parallel_size", p.tp},
      {"context_parallel_size", p.cp},
      {"pipeline_model_parallel_size", p.pp},
      {"num_virtual_stages_per_pipeline_rank", p.vpp},
      {"expert_model_parallel_size", p.ep},
      {"expert_tensor_parallel_size", p.etp},
      {"data_parallel_size", p.dp()},
      {"pipeline_model_parallel_layout", to_layout(s.partition)},
      {"sequence_parallel", p.sequence_parallel},
      {"micro_batch_size", s.batch.micro_batch_size},
      {"global_batch_size", s.batch.global_batch_size},
      {"seq_length", s.batch.seq_length},
      {"precision", name(s.precision)},
      {"moe_token_dispatcher_type", name(s.dispatcher)},
      {"schedule", s.schedule.name},
      {"overlap_moe_expert_parallel_comm", s.schedule.overlap_moe_expert_parallel_comm},
      {"delay_wgrad_compute", s.schedule.delay_wgrad_compute},
      {"recompute", recompute_text(s.recompute)},
      {"flops_convention", name(s.flops_convention)},
      {"partition", std::move(partition)},
  };
  if (r.pairs) plan["pair_orders"] = r.pairs->given > 0 ? r.pairs->source : r.pairs->scheduler;
  return plan;
}

Json inputs_json(const Scenario& s) {
  Json out = Json::object();
  for (const auto& [file, sha256] : s.inputs) out[file] = sha256;
  return out;
}

Json sim_json(const RunResult& r) {
  return {{"wall_s", r.sim.wall_s},
          {"events", r.sim.events},
          {"rank_ops", r.sim.rank_ops},
          {"peak_rss_bytes", r.sim.peak_rss_bytes},
          {"partial", r.partial}};
}

std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json prediction_json(const std::optional<PredictionInterval>& p) {
  if (!p) return nullptr;
  return {{"low_s", to_seconds(p->low)}, {"high_s", to_seconds(p->high)},      {"runs", p->runs},
          {"rows", p->residual.rows},    {"median_error", p->residual.median}, {"p95_error", p->residual.p95},
          {"source", p->source}};
}

// Nested values indented.
std::string pretty(const Json& value) {
  std::string text = value.dump(2, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 3))
    text.insert(at + 1, 2, ' ');
  return text;
}

// One line per item of a list.
std::string lines(const Json& list) {
  std::string text;
  for (const Json& item : list)
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "[\n    " : ",\n    ", compact(item));
  return text.empty() ? "[]" : text + "\n  ]";
}

using Block = std::pair<const char*, std::string>; // a key and the text of its value

std::vector<Block> answer(const Scenario& s, const RunResult& r) {
  return {
      {"step_time_s", pretty(to_seconds(r.step_time))},
      {"step_time_p05_s", pretty(to_seconds(r.step_time_p05))},
      {"step_time_p95_s", pretty(to_seconds(r.step_time_p95))},
      {"step_time_ci95_s", pretty(to_seconds(r.step_time_ci95))},
      {"prediction", pretty(prediction_json(r.prediction))},
      {"steps", pretty(r.step_times.size())},
      {"warm_up_steps", pretty(r.warm_up)},
      {"precise", pretty(r.precise)},
      {"phases", lines(phases_json(r))},
      {"adaptation", pretty(adaptation_json(r))},
      {"tokens_per_s_per_gpu", pretty(r.tokens_per_s_per_gpu)},
      {"tflops_per_gpu", pretty(r.tflops_per_gpu)},
      {"mfu", pretty(r.mfu)},
      {"hfu", pretty(r.hfu)},
      {"ranks", pretty(s.parallelism.world_size)},
      {"ledger", pretty(ledger_json(r.ledger_sum))},
      {"ep_hidden_fraction", pretty(r.ep_hidden_fraction)},
      {"stage_imbalance", pretty(r.stage_imbalance)},
      {"capacity", pretty(capacity_json(r.capacity))},
      {"filled_bubble_s", pretty(to_seconds(r.filled_bubble))},
      {"fill_overrun_s", pretty(to_seconds(r.fill_overrun))},
      {"filler", pretty(filler_json(s, r.fill))},
      {"memory", pretty(memory_json(r.memory))},
      {"provenance", pretty(provenance_json(r.provenance))},
      {"plan", pretty(plan_json(s, r))},
      {"seed", pretty(s.seed)},
      {"inputs", pretty(inputs_json(s))},
  };
}

// What the views of a report need beside the answer.
std::vector<Block> views(const Scenario& s, const RunResult& r) {
  return {
      {"gpu", pretty(s.profile.gpu.name)},
      {"bf16_peak_tflops", pretty(s.profile.gpu.bf16_peak.flops_per_second * 1e-12)},
      {"replicas", compact({{"of_job", s.parallelism.replicas()}, {"simulated", r.simulated_replicas}})},
      {"warnings", pretty(warnings_json(s, r))},
      {"step_times_s", compact(step_times_json(r))},
      {"stages", lines(stages_json(r))},
      {"pipeline_ranks", lines(pipeline_ranks_json(s, r))},
      {"traffic", lines(traffic_json(r))},
      {"expert_load", compact(expert_load_json(s, r))},
  };
}

} // namespace

std::string run_json(const Scenario& s, const RunResult& r, const JsonOptions& options) {
  std::vector<Block> blocks = answer(s, r);
  for (Block& block : views(s, r)) blocks.push_back(std::move(block));
  if (r.pairs) blocks.emplace_back("pair_orders", pretty(pairs_json(*r.pairs)));
  if (options.detail) blocks.emplace_back("detail", detail_json(s, r));
  blocks.emplace_back("sim", pretty(sim_json(r)));
  std::string text;
  for (const auto& [key, value] : blocks)
    fmt::format_to(std::back_inserter(text), "{}  \"{}\": {}", text.empty() ? "{\n" : ",\n", key, value);
  return text + "\n}\n";
}

} // namespace tessella
