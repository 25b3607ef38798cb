#include "calib/loop/stage.h"

#include <cmath>
#include <numeric>

#include "calib/protocol/random_fill.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

constexpr std::uint64_t kEndsSeed = 1'000'000; // beyond the seeds of any layer

} // namespace

MicroBatchData make_data(const LoopModel& m, int ep_rank, int micro_batch) {
  std::vector<float> noise(static_cast<std::size_t>(m.seq) + 1);
  fill_random(noise, static_cast<std::uint64_t>(ep_rank) * 10'007 + static_cast<std::uint64_t>(micro_batch) + 1);
  std::vector<std::int32_t> ids;
  const auto vocab = static_cast<std::int32_t>(m.vocab);
  for (const float x : noise)
    ids.push_back(static_cast<std::int32_t>((x + 1.0F) * 0.5F * static_cast<float>(vocab)) % vocab);
  return {{ids.begin(), ids.end() - 1}, {ids.begin() + 1, ids.end()}};
}

PipelineStage::PipelineStage(const LoopModel& m, const LoopPlan& plan, int index, int ep_rank)
    : index_(index), last_(index + 1 == plan.stages()) {
  const auto at = static_cast<std::size_t>(index);
  const int first = std::accumulate(plan.layers.begin(), plan.layers.begin() + index, 0);
  for (int l = first; l < first + plan.layers[at]; ++l) layers_.emplace_back(m, l, ep_rank, plan.ep);
  if (is_first()) embedding_ = Parameter(m.vocab, m.hidden, 1.0F, kEndsSeed);
  if (last_) {
    final_norm_ = Parameter(1, m.hidden, 1.0F, kEndsSeed + 1);
    output_ = Parameter(m.vocab, m.hidden, 1.0F / std::sqrt(static_cast<float>(m.hidden)), kEndsSeed + 2);
  }
}

std::vector<Parameter*> PipelineStage::parameters() {
  std::vector<Parameter*> all;
  if (is_first()) all.push_back(&embedding_);
  for (MoeLayer& layer : layers_)
    for (Parameter* p : layer.parameters()) all.push_back(p);
  if (last_) {
    all.push_back(&final_norm_);
    all.push_back(&output_);
  }
  return all;
}

std::optional<double> PipelineStage::forward(const Tensor* in, const MicroBatchData& data, Tensor& out, StageContext& c,
                                             LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  c.layers.resize(layers_.size());
  if (is_first()) {
    out.resize(m.seq, m.hidden);
    rt.recorder->run("lookup", [&] { embedding_lookup(embedding_.value, data.tokens, out); });
    in = &out;
  }
  TSL_CHECK(in != nullptr);
  const Tensor* x = in;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].forward(*x, out, c.layers[l], rt);
    x = &out;
  }
  if (!last_) return std::nullopt;
  return head_forward(*x, data, c, rt);
}

double PipelineStage::head_forward(const Tensor& x, const MicroBatchData& data, StageContext& c, LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  c.hidden = x;
  c.norm.resize(m.seq, m.hidden);
  c.logits.resize(m.seq, m.vocab);
  c.inverse.resize(static_cast<std::size_t>(m.seq));
  c.lse.resize(static_cast<std::size_t>(m.seq));
  double loss = 0.0;
  rec.run("final_norm", [&] { rms_norm_forward(c.hidden, final_norm_.value.values(), c.norm, c.inverse); });
  rec.run("logits", [&] { linear_forward(c.norm, output_.value, c.logits); });
  rec.run("loss", [&] { loss = cross_entropy_forward(c.logits, data.targets, c.lse); });
  return loss;
}

void PipelineStage::backward(const Tensor* dout, double scale, const MicroBatchData& data, Tensor& din, StageContext& c,
                             LayerRuntime& rt) {
  if (last_) {
    head_backward(scale, data, din, c, rt);
    dout = &din;
  }
  TSL_CHECK(dout != nullptr);
  const Tensor* dy = dout;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    layers_[l].backward(*dy, din, c.layers[l], rt);
    dy = &din;
  }
  if (is_first()) rt.recorder->run("scatter_add", [&] { embedding_scatter_add(din, data.tokens, embedding_.grad); });
}

void PipelineStage::head_backward(double scale, const MicroBatchData& data, Tensor& dx, StageContext& c,
                                  LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  buffer_.resize(m.seq, m.vocab);
  rt.a.resize(m.seq, m.hidden);
  dx.resize(m.seq, m.hidden);
  rec.run("loss_bwd", [&] { cross_entropy_backward(c.logits, data.targets, c.lse, scale, buffer_); });
  rec.run("logits_dgrad", [&] { linear_dgrad(buffer_, output_.value, rt.a); });
  rec.run("final_norm_bwd", [&] {
    rms_norm_backward(c.hidden, final_norm_.value.values(), c.inverse, rt.a, dx, final_norm_.grad.values());
  });
  rec.run("logits_wgrad", [&] { linear_wgrad(buffer_, c.norm, output_.grad); });
}

} // namespace tessella::calib
