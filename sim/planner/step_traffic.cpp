#include "sim/planner/step_traffic.h"

#include <algorithm>

#include "sim/cost/layer_ops.h"
#include "sim/exec/lower.h"
#include "sim/planner/stage_chains.h"

namespace tessella {
namespace {

const char* lane_of(OpClass cls) {
  switch (cls) {
  case OpClass::tp:
    return "tp";
  case OpClass::cp:
    return "cp";
  case OpClass::ep:
    return "ep";
  case OpClass::compute:
    break;
  }
  return "compute";
}

class Traffic {
 public:
  // A rank runs `times` of this chain per step, on average.
  void add(const OpChain& chain, double times) {
    for (const std::vector<OpCost>* ops : {&chain.forward, &chain.backward, &chain.wgrad})
      for (const OpCost& op : *ops)
        if (op.cls != OpClass::compute)
          for (const OpDetail& detail : op.details) add(op.cls, detail, times);
  }
  std::vector<TrafficRow> rows() const { return rows_; }

 private:
  void add(OpClass cls, const OpDetail& detail, double times) {
    if (detail.bytes <= 0.0) return;
    auto row = std::find_if(rows_.begin(), rows_.end(), [&](const TrafficRow& r) {
      return r.lane == lane_of(cls) && r.collective == detail.entry;
    });
    if (row == rows_.end()) row = rows_.insert(row, {lane_of(cls), detail.entry, 0.0, 0.0});
    row->bytes += detail.bytes * times;
    row->alone_s += detail.duration.seconds() * times;
  }

  std::vector<TrafficRow> rows_;
};

} // namespace

std::vector<TrafficRow> step_traffic(const Scenario& s) {
  if (is_uniform(s.profile)) return {};
  const ModelOps ops = make_model_ops(s);
  const double per_rank = static_cast<double>(s.num_micro_batches()) / static_cast<double>(s.parallelism.pp);
  Traffic traffic;
  for (const StageContent& stage : s.partition.stages)
    for (const OpChain* chain : stage_chains(s.model, stage, ops)) traffic.add(*chain, per_rank);
  return traffic.rows();
}

} // namespace tessella
