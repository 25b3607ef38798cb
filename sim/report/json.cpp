#include "sim/report/json.h"

#include <nlohmann/json.hpp>

#include <cstddef>

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
  return {{"peak_bytes", fullest(m).peak().count}, {"capacity_bytes", m.capacity.count}, {"stage", m.peak_rank}};
}

Json filler_json(const Scenario& s, const FillSums& f) {
  return {{"policy", s.bubble_filler.policy}, {"fills", f.fills},
          {"deferred", f.deferred},           {"forced", f.forced},
          {"pool_peak", f.pool_peak},         {"pool_peak_bytes", f.pool_peak_bytes}};
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

Json step_times_json(const RunResult& r) {
  Json out = Json::array();
  for (const Duration d : r.step_times) out.push_back(to_seconds(d));
  return out;
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

// The plan as it ran, in Megatron's names.
Json plan_json(const Scenario& s) {
  const Parallelism& p = s.parallelism;
  Json partition = Json::array();
  for (const StageContent& stage : s.partition.stages) partition.push_back(stage_json(stage));
  return {
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
      {"flops_convention", name(s.flops_convention)},
      {"partition", std::move(partition)},
  };
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

} // namespace

std::string run_json(const Scenario& s, const RunResult& r) {
  const Json root = {
      {"step_time_s", to_seconds(r.step_time)},
      {"step_time_p05_s", to_seconds(r.step_time_p05)},
      {"step_time_p95_s", to_seconds(r.step_time_p95)},
      {"step_time_ci95_s", to_seconds(r.step_time_ci95)},
      {"steps", r.step_times.size()},
      {"step_times_s", step_times_json(r)},
      {"phases", phases_json(r)},
      {"adaptation", adaptation_json(r)},
      {"tokens_per_s_per_gpu", r.tokens_per_s_per_gpu},
      {"tflops_per_gpu", r.tflops_per_gpu},
      {"mfu", r.mfu},
      {"hfu", r.hfu},
      {"ranks", s.parallelism.world_size},
      {"ledger", ledger_json(r.ledger_sum)},
      {"ep_hidden_fraction", r.ep_hidden_fraction},
      {"stage_imbalance", r.stage_imbalance},
      {"capacity", capacity_json(r.capacity)},
      {"filled_bubble_s", to_seconds(r.filled_bubble)},
      {"fill_overrun_s", to_seconds(r.fill_overrun)},
      {"filler", filler_json(s, r.fill)},
      {"memory", memory_json(r.memory)},
      {"provenance", provenance_json(r.provenance)},
      {"plan", plan_json(s)},
      {"seed", s.seed},
      {"inputs", inputs_json(s)},
      {"sim", sim_json(r)},
  };
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
