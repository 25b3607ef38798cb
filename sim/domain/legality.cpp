#include "sim/domain/legality.h"

#include <algorithm>
#include <limits>

#include "sim/domain/legality_rules.h"

namespace tessella {

Verdict check_legality(const LegalityInput& in, bool with_suggestions) {
  Verdict verdict;
  Judge judge{in, verdict, with_suggestions};
  judge_all(judge);
  return verdict;
}

void judge_all(Judge& judge) {
  size_rules(judge);
  if (!judge.out.legal()) return;
  dense_grid_rule(judge);
  const bool dense_grid_is_legal = judge.out.legal();
  for (const Rule rule : {expert_grid_rule, expert_rules, tensor_rules, sequence_rules, partition_rules}) rule(judge);
  if (dense_grid_is_legal) batch_rules(judge);
  schedule_rules(judge);
  recompute_rules(judge);
}

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t f : factors)
    if (__builtin_mul_overflow(product, f, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

std::optional<std::int64_t> legal_micro_batches(const LegalityInput& in) {
  const Parallelism& p = in.parallelism;
  const std::int64_t pipeline = saturating_product({p.tp, p.cp, p.pp});
  if (p.world_size % pipeline != 0) return std::nullopt;
  const std::int64_t per_micro_batch = saturating_product({in.batch.micro_batch_size, p.world_size / pipeline});
  if (in.batch.global_batch_size % per_micro_batch != 0) return std::nullopt;
  return in.batch.global_batch_size / per_micro_batch;
}

std::int64_t chunks_per_rank(const LegalityInput& in) {
  if (!in.layout.layout) return in.parallelism.vpp;
  try {
    const auto stages = static_cast<std::int64_t>(parse_layout(*in.layout.layout).stages.size());
    return stages % in.parallelism.pp == 0 ? stages / in.parallelism.pp : in.parallelism.vpp;
  } catch (const LayoutError&) {
    return in.parallelism.vpp;
  }
}

std::vector<const LayerKind*> kinds_in_use(const Model& model) {
  std::vector<const LayerKind*> kinds;
  const auto add = [&](const LayerKind& kind) {
    if (std::find(kinds.begin(), kinds.end(), &kind) == kinds.end()) kinds.push_back(&kind);
  };
  for (std::int64_t i = 0; i < model.num_layers(); ++i) add(model.layer(i));
  if (model.mtp_num_layers > 0) add(model.mtp_layer());
  return kinds;
}

} // namespace tessella
