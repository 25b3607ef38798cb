#include "sim/planner/partition/layer_table.h"

#include <map>

namespace tessella {
namespace {

PassTimes pass(const std::vector<OpCost>& ops) {
  PassTimes t;
  for (const OpCost& op : ops) {
    if (op.cls == OpClass::compute) t.compute += op.duration;
    if (op.cls == OpClass::tp || op.cls == OpClass::cp) t.blocking += op.duration;
    if (op.cls == OpClass::ep) t.exchange += op.duration;
  }
  return t;
}

PieceTimes piece(const OpChain& chain) {
  return {pass(chain.forward), pass(chain.backward), pass(chain.wgrad)};
}

void add_slowed(const OpChain& chain, std::int64_t times, std::map<double, Duration>& sums) {
  for (const auto* ops : {&chain.forward, &chain.backward, &chain.wgrad})
    for (const OpCost& op : *ops)
      if (op.cls != OpClass::ep) sums[op.contention.moving] += op.duration * times;
}

std::vector<SlowedWork> slowed_kernels(const Model& model, const ModelOps& ops) {
  std::map<double, Duration> sums;
  for (const std::int32_t kind : model.layers) add_slowed(ops.kinds[static_cast<std::size_t>(kind)], 1, sums);
  add_slowed(ops.embedding, 1, sums);
  add_slowed(ops.head, 1, sums);
  add_slowed(ops.mtp_extra, model.mtp_num_layers, sums);
  if (model.mtp_num_layers > 0)
    add_slowed(ops.kinds[static_cast<std::size_t>(model.mtp_kind)], model.mtp_num_layers, sums);
  std::vector<SlowedWork> all;
  for (const auto& [factor, work] : sums) all.push_back({factor, work});
  return all;
}

} // namespace

PassTimes& PassTimes::operator+=(const PassTimes& o) {
  compute += o.compute;
  blocking += o.blocking;
  exchange += o.exchange;
  return *this;
}

PassTimes& PassTimes::operator-=(const PassTimes& o) {
  compute -= o.compute;
  blocking -= o.blocking;
  exchange -= o.exchange;
  return *this;
}

PassTimes PieceTimes::backward() const {
  PassTimes sum = input_grad;
  return sum += weight_grad;
}

LayerTimes PieceTimes::layer_times() const {
  PassTimes sum = backward();
  sum += forward;
  return {sum.compute, sum.exchange, sum.blocking};
}

PieceTimes& PieceTimes::operator+=(const PieceTimes& o) {
  forward += o.forward;
  input_grad += o.input_grad;
  weight_grad += o.weight_grad;
  return *this;
}

PieceTimes& PieceTimes::operator-=(const PieceTimes& o) {
  forward -= o.forward;
  input_grad -= o.input_grad;
  weight_grad -= o.weight_grad;
  return *this;
}

LayerTable::LayerTable(const Scenario& scenario, const ModelOps& ops) : upto_(1) {
  const Model& model = scenario.model;
  std::vector<PieceTimes> kinds;
  for (const OpChain& chain : ops.kinds) kinds.push_back(piece(chain));
  for (const std::int32_t kind : model.layers) {
    PieceTimes next = upto_.back();
    upto_.push_back(next += kinds[static_cast<std::size_t>(kind)]);
  }
  embedding_ = piece(ops.embedding);
  head_ = piece(ops.head);
  slowed_ = slowed_kernels(model, ops);
  if (model.mtp_num_layers == 0) return;
  mtp_ = piece(ops.mtp_extra);
  mtp_ += kinds[static_cast<std::size_t>(model.mtp_kind)];
}

PieceTimes LayerTable::layers(std::int32_t first, std::int32_t end) const {
  PieceTimes sum = upto_[static_cast<std::size_t>(end)];
  return sum -= upto_[static_cast<std::size_t>(first)];
}

PieceTimes LayerTable::stage(const StageContent& content) const {
  PieceTimes sum = layers(content.first_layer, content.first_layer + content.num_layers);
  if (content.embedding) sum += embedding_;
  for (std::int32_t m = 0; m < content.mtp_layers; ++m) sum += mtp_;
  if (content.loss) sum += head_;
  return sum;
}

} // namespace tessella
