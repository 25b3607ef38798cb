// A pipeline stage: consecutive layers, with the embedding on the first and the loss on the last.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "calib/loop/moe_layer.h"

namespace tessella::calib {

// Token ids of one micro-batch, and the tokens that follow them.
struct MicroBatchData {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
};

// The same for equal arguments, on every rank.
MicroBatchData make_data(const LoopModel& model, int ep_rank, int micro_batch);

// What one micro-batch leaves on a stage between its forward and its backward.
struct StageContext {
  std::vector<LayerContext> layers;
  Tensor hidden; // input of the head
  Tensor norm;
  Tensor logits;
  std::vector<float> inverse;
  std::vector<float> lse;
};

class PipelineStage {
 public:
  PipelineStage(const LoopModel& model, const LoopPlan& plan, int index, int ep_rank);

  // Activations after the stage in `out`; `in` is ignored by the first stage. Returns the micro-batch's mean loss on
  // the last stage.
  std::optional<double> forward(const Tensor* in, const MicroBatchData& data, Tensor& out, StageContext& c,
                                LayerRuntime& rt);
  // Gradient of the stage's input in `din`; `dout` is ignored by the last stage, which scales the loss by `scale`.
  void backward(const Tensor* dout, double scale, const MicroBatchData& data, Tensor& din, StageContext& c,
                LayerRuntime& rt);

  std::vector<Parameter*> parameters();
  bool is_first() const { return index_ == 0; }
  bool is_last() const { return last_; }
  int index() const { return index_; }

 private:
  double head_forward(const Tensor& x, const MicroBatchData& data, StageContext& c, LayerRuntime& rt);
  void head_backward(double scale, const MicroBatchData& data, Tensor& dx, StageContext& c, LayerRuntime& rt);

  int index_;
  bool last_;
  std::vector<MoeLayer> layers_;
  Parameter embedding_;  // first stage
  Parameter final_norm_; // last stage, as the next
  Parameter output_;
  Tensor buffer_; // between layers
};

} // namespace tessella::calib
