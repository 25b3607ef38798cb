// The two grids over the same ranks: dense TP * CP * DP * PP, experts ETP * EP * EDP * PP.
#include <fmt/format.h>

#include <algorithm>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

// Multiples of `unit` around `size`, none above `limit`.
std::vector<std::int64_t> multiples_near(std::int64_t unit, std::int64_t size, std::optional<std::int64_t> limit) {
  constexpr std::int64_t kTried = 16;
  std::vector<std::int64_t> multiples;
  if (unit > size && (!limit || unit > *limit)) return multiples;
  const std::int64_t middle = size / unit;
  for (std::int64_t k = std::max<std::int64_t>(1, middle - kTried); k <= middle + 1; ++k)
    if (const std::int64_t m = saturating_product({k, unit}); !limit || m <= *limit) multiples.push_back(m);
  return multiples;
}

bool has_moe(const Model& model) {
  const auto kinds = kinds_in_use(model);
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind* k) { return moe_of(*k) != nullptr; });
}

void cluster_rule(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  if (!judge.in.cluster_gpus || p.world_size == *judge.in.cluster_gpus) return;
  const std::int64_t gpus = *judge.in.cluster_gpus;
  if (p.world_size < gpus) {
    judge.warn(fmt::format("the plan uses {} of the cluster's {} GPUs", p.world_size, gpus));
    return;
  }
  const std::int64_t pipeline = saturating_product({p.tp, p.cp, p.pp});
  judge.violate("parallelism.world_size",
                fmt::format("world_size {} is more than the {} GPUs of the cluster", p.world_size, gpus),
                nearest_plan(judge, {{"world_size", &Parallelism::world_size, multiples_near(pipeline, gpus, gpus)}},
                             dense_grid_rule));
}

void nesting_rule(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  const std::int64_t dense = p.tp * p.cp;
  const std::int64_t expert = p.etp * p.ep;
  if (std::max(dense, expert) % std::min(dense, expert) == 0) return;
  judge.violate(
      "parallelism.expert_model_parallel_size",
      fmt::format(
          "TP * CP = {} * {} = {} and ETP * EP = {} * {} = {}: Tessella needs one to be a multiple of the other, "
          "so that the groups of one grid nest in those of the other",
          p.tp, p.cp, dense, p.etp, p.ep, expert),
      nearest_plan(judge,
                   {{"expert_model_parallel_size", &Parallelism::ep, divisors(p.world_size)},
                    {"context_parallel_size", &Parallelism::cp, divisors(p.world_size)}},
                   expert_grid_rule));
}

} // namespace

void size_rules(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  const Batch& b = judge.in.batch;
  const LayoutSpec& l = judge.in.layout;
  const auto at_least_one = [&](const char* key, std::int64_t value) {
    if (value < 1) judge.violate(key, fmt::format("{} is {}, it must be at least 1", key, value));
  };
  at_least_one("parallelism.world_size", p.world_size);
  at_least_one("parallelism.tensor_model_parallel_size", p.tp);
  at_least_one("parallelism.context_parallel_size", p.cp);
  at_least_one("parallelism.pipeline_model_parallel_size", p.pp);
  at_least_one("parallelism.num_virtual_stages_per_pipeline_rank", p.vpp);
  at_least_one("parallelism.expert_model_parallel_size", p.ep);
  at_least_one("parallelism.expert_tensor_parallel_size", p.etp);
  at_least_one("parallelism.decoder_first_pipeline_num_layers", l.decoder_first_pipeline_num_layers.value_or(1));
  at_least_one("parallelism.decoder_last_pipeline_num_layers", l.decoder_last_pipeline_num_layers.value_or(1));
  at_least_one("batch.micro_batch_size", b.micro_batch_size);
  at_least_one("batch.global_batch_size", b.global_batch_size);
  at_least_one("batch.seq_length", b.seq_length);
  at_least_one("model.layers", judge.in.model.num_layers());
}

void dense_grid_rule(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  const std::size_t before = judge.out.violations.size();
  cluster_rule(judge);
  const std::int64_t pipeline = saturating_product({p.tp, p.cp, p.pp});
  if (judge.out.violations.size() != before || p.world_size % pipeline == 0) return;
  const std::vector<std::int64_t> sizes = divisors(p.world_size);
  judge.violate("parallelism.world_size",
                fmt::format("world_size {} is not a multiple of tensor_model_parallel_size * context_parallel_size * "
                            "pipeline_model_parallel_size = {} * {} * {} = {}",
                            p.world_size, p.tp, p.cp, p.pp, pipeline),
                nearest_plan(judge,
                             {{"world_size", &Parallelism::world_size,
                               multiples_near(pipeline, p.world_size, judge.in.cluster_gpus)},
                              {"pipeline_model_parallel_size", &Parallelism::pp, sizes},
                              {"context_parallel_size", &Parallelism::cp, sizes},
                              {"tensor_model_parallel_size", &Parallelism::tp, sizes}},
                             dense_grid_rule));
}

void expert_grid_rule(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  if (!has_moe(judge.in.model)) return; // expert_rules refuses EP and ETP on a dense model
  if (judge.in.etp_was_defaulted && p.etp > 1)
    judge.warn(
        fmt::format("expert_tensor_parallel_size is not set; its default follows tensor_model_parallel_size = {}, "
                    "as in Megatron. MoE plans usually want expert_tensor_parallel_size: 1",
                    p.tp));
  const std::int64_t pipeline = saturating_product({p.etp, p.ep, p.pp});
  if (p.world_size % pipeline != 0) {
    const std::vector<std::int64_t> sizes = divisors(p.world_size);
    const Knob ep{"expert_model_parallel_size", &Parallelism::ep, sizes};
    const Knob etp{"expert_tensor_parallel_size", &Parallelism::etp, sizes};
    judge.violate("parallelism.expert_model_parallel_size",
                  fmt::format("expert grid: world_size {} is not a multiple of expert_tensor_parallel_size * "
                              "expert_model_parallel_size * pipeline_model_parallel_size = {} * {} * {} = {}",
                              p.world_size, p.etp, p.ep, p.pp, pipeline),
                  nearest_plan(judge, judge.in.etp_was_defaulted ? std::vector{etp, ep} : std::vector{ep, etp},
                               expert_grid_rule));
    return;
  }
  if (p.world_size % saturating_product({p.tp, p.cp, p.pp}) == 0) nesting_rule(judge);
}

} // namespace tessella
