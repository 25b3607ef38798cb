// Global batch against data parallelism; micro-batches and chunks against the schedule.
#include <fmt/format.h>

#include <algorithm>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

bool is_one_f_one_b(const std::string& name) {
  return name == "1f1b" || name == "interleaved_1f1b";
}

// Global batches whose micro-batch count is near the present one.
std::vector<std::int64_t> batches_near(std::int64_t unit, std::int64_t micro_batches, std::int64_t reach) {
  std::vector<std::int64_t> batches;
  for (std::int64_t m = std::max<std::int64_t>(1, micro_batches - reach); m <= micro_batches + reach; ++m)
    batches.push_back(saturating_product({m, unit}));
  return batches;
}

// Megatron schedules.py: N in [p, m] and a last group that is full or at least p long.
void interleaving_rule(Judge& judge, std::int64_t m) {
  const Parallelism& p = judge.in.parallelism;
  const std::int64_t n = judge.in.schedule.microbatch_group_size.value_or(p.pp);
  const std::int64_t unit = judge.in.batch.global_batch_size / m;
  const char* key = "schedule.microbatch_group_size_per_vp_stage";
  if (n < p.pp) {
    judge.violate(key,
                  fmt::format("interleaved 1F1B: microbatch_group_size_per_vp_stage {} is less than "
                              "pipeline_model_parallel_size {}",
                              n, p.pp),
                  fmt::format("microbatch_group_size_per_vp_stage: {}", p.pp));
  } else if (n > m) {
    const std::string batch = nearest_batch(judge, {saturating_product({n, unit})}, schedule_rules);
    judge.violate(
        key,
        fmt::format("interleaved 1F1B: microbatch_group_size_per_vp_stage {} is more than the {} microbatches of "
                    "a step",
                    n, m),
        m >= p.pp ? fmt::format("microbatch_group_size_per_vp_stage: {}", m) : batch);
  } else if (m % n != 0 && m % n < p.pp) {
    judge.violate(
        "batch.global_batch_size",
        fmt::format("interleaved 1F1B: {} microbatches in groups of {} leave a last group of {}, which must be 0 "
                    "or at least pipeline_model_parallel_size {}",
                    m, n, m % n, p.pp),
        nearest_batch(judge, batches_near(unit, m, std::min<std::int64_t>(n, 4096)), schedule_rules));
  }
}

// --overlap-moe-expert-parallel-comm (Megatron transformer_config.py, arguments.py).
void overlap_rule(Judge& judge) {
  const LegalityInput& in = judge.in;
  const char* key = "schedule.overlap_moe_expert_parallel_comm";
  const auto refuse = [&](const std::string& text, const std::string& suggestion) {
    judge.violate(key, "overlap_moe_expert_parallel_comm " + text, suggestion);
  };
  if (in.parallelism.ep <= 1)
    refuse(fmt::format("needs expert_model_parallel_size of at least 2, it is {}", in.parallelism.ep),
           "overlap_moe_expert_parallel_comm: false");
  if (in.dispatcher == Dispatcher::allgather)
    refuse(fmt::format("needs token_dispatcher_type alltoall, deepep or hybridep, it is {}", name(in.dispatcher)),
           "token_dispatcher_type: alltoall");
  if (in.recompute.granularity == RecomputeGranularity::full)
    refuse("does not go with recompute granularity full", "granularity: selective");
  if (in.recompute.has(RecomputeModule::moe)) refuse("does not go with the recompute module moe", "modules: [moe_act]");
  if (in.model.mtp_num_layers > 1)
    refuse(fmt::format("allows at most 1 MTP layer, the model has {}", in.model.mtp_num_layers),
           "overlap_moe_expert_parallel_comm: false");
  if (in.parallelism.pp > 1 && is_one_f_one_b(in.schedule.name) && chunks_per_rank(in) == 1)
    refuse(fmt::format(
               "with pipeline_model_parallel_size {} needs at least 2 virtual stages per pipeline rank, there is 1",
               in.parallelism.pp),
           "overlap_moe_expert_parallel_comm: false");
}

} // namespace

void batch_rules(Judge& judge) {
  const Batch& b = judge.in.batch;
  const Parallelism& p = judge.in.parallelism;
  const std::int64_t unit = saturating_product({b.micro_batch_size, p.dp()});
  if (b.global_batch_size % unit != 0) {
    judge.violate(
        "batch.global_batch_size",
        fmt::format("global_batch_size {} is not a multiple of micro_batch_size * data_parallel_size = {} * {} = "
                    "{}{}",
                    b.global_batch_size, b.micro_batch_size, p.dp(), unit,
                    b.global_batch_size < unit ? ": there would be 0 microbatches" : ""),
        nearest_batch(judge, batches_near(unit, b.global_batch_size / unit, 8), batch_rules));
    return;
  }
  const std::int64_t m = b.global_batch_size / unit;
  if (m < p.pp)
    judge.warn(
        fmt::format("{} microbatches are fewer than the {} pipeline stages: most of the pipeline idles", m, p.pp));
}

void schedule_rules(Judge& judge) {
  const LegalityInput& in = judge.in;
  const std::int64_t vpp = chunks_per_rank(in);
  if (vpp > 1 && in.parallelism.pp == 1)
    judge.violate(
        "parallelism.num_virtual_stages_per_pipeline_rank",
        fmt::format("{} virtual stages per pipeline rank need pipeline_model_parallel_size of at least 2, it is 1",
                    vpp),
        in.layout.layout ? "" : "num_virtual_stages_per_pipeline_rank: 1");
  else if (const auto m = legal_micro_batches(in); m && vpp > 1 && is_one_f_one_b(in.schedule.name))
    interleaving_rule(judge, *m);
  if (in.schedule.overlap_moe_expert_parallel_comm)
    overlap_rule(judge);
  else if (in.schedule.delay_wgrad_compute && !in.schedule.file)
    judge.violate("schedule.delay_wgrad_compute",
                  "delay_wgrad_compute needs overlap_moe_expert_parallel_comm, which is off",
                  "delay_wgrad_compute: false");
}

} // namespace tessella
