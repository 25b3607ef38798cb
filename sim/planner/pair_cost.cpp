#include "sim/planner/pair_cost.h"

#include "sim/exec/overlap.h"
#include "sim/exec/pair_order.h"

namespace tessella {

Duration template_makespan(const Template& t) {
  Overlap overlap(1);
  Time compute;
  overlap.begin(std::span(&compute, 1), t.ops.size());
  for (std::size_t i = 0; i < t.ops.size(); ++i) {
    const Op& op = t.ops[i];
    Time ready = op.lane == OpLane::ep ? overlap.ep_clock()[0] : compute;
    for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
      ready = max(ready, overlap.ends(t.deps[d])[0]);
    Time end = ready + op.duration;
    if (op.lane == OpLane::ep) {
      const Overlap::Spans spans = overlap.add();
      spans.arrive[0] = spans.start[0] = ready;
      spans.end[0] = overlap.ep_clock()[0] = end;
    } else {
      end = overlap.run(0, ready, op.duration, op.beside_waiting, op.beside_moving).end;
      compute = end;
    }
    overlap.ends(i)[0] = end;
  }
  return max(compute, overlap.ep_clock()[0]) - Time{};
}

PairCosts::PairCosts(const Scenario& scenario, const ModelOps& ops, const LayerTable& table, bool paired)
    : scenario_(scenario), table_(table), paired_(paired), pieces_(scenario, ops, program_) {}

std::size_t PairCosts::chunk_of(const StageContent& content) {
  std::vector<std::int32_t> key;
  for (std::int32_t l = content.first_layer; l < content.first_layer + content.num_layers; ++l)
    key.push_back(scenario_.model.layers[static_cast<std::size_t>(l)]);
  for (const std::int32_t x : {content.mtp_layers, content.embedding ? 1 : 0, content.loss ? 1 : 0}) key.push_back(x);
  const auto [it, added] = chunks_.emplace(std::move(key), chunk_times_.size());
  if (!added) return it->second;
  chunk_times_.push_back(table_.stage(content));
  chunk_pieces_.push_back(paired_ ? pieces_.pieces_of(content) : std::vector<PieceOps>{});
  return it->second;
}

Duration PairCosts::time(std::size_t f, std::size_t b) const {
  if (paired_)
    return template_makespan(pair_template(chunk_pieces_[f], chunk_pieces_[b], scenario_.schedule.delay_wgrad_compute));
  return chunk_times_[f].forward.serial() + chunk_times_[b].backward().serial();
}

Duration PairCosts::cost(const StageContent& forward, const StageContent& backward) {
  ++lookups_;
  const std::pair key{chunk_of(forward), chunk_of(backward)};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const Duration d = time(key.first, key.second);
  known_.emplace(key, d);
  return d;
}

} // namespace tessella
