// One transformer layer with a mixture of experts, really computed: forward, input gradients, weight gradients. It runs
// the kernels that the simulator charges for such a layer, in the same order (sim/cost/layer_ops.h), and the experts'
// rows really travel between the ranks of the group.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calib/host/host_comm.h"
#include "calib/host/kernels.h"
#include "calib/loop/plan.h"
#include "calib/loop/recorder.h"

namespace tessella::calib {

// A weight with its gradient and Adam's moments.
struct Parameter {
  Tensor value;
  Tensor grad;
  Tensor mean;
  Tensor variance;
  bool expert = false; // its gradient is not summed over the group: every rank has experts of its own

  Parameter() = default;
  // Uniform in +-scale; the same for equal seeds, wherever it lives.
  Parameter(std::int64_t rows, std::int64_t cols, float scale, std::uint64_t seed);
};

// What the layers of one rank share while they run.
struct LayerRuntime {
  const LoopModel* model = nullptr;
  const RopeTable* rope = nullptr;
  HostComm* group = nullptr; // EP; nothing with one rank
  Recorder* recorder = nullptr;
  std::span<const std::int32_t> forced; // experts of this rank's tokens
  AttentionScratch attention;
  Tensor a, b, c; // [seq, hidden] each, scratch of the backward pass
  Tensor qkv;
  Tensor logits;
  Tensor sent;     // rows in permuted order
  Tensor received; // as they arrive
  Tensor wide;     // gradients of fc1's output
  Tensor narrow;   // of the activation
  Tensor rows;     // of expert rows
  std::vector<float> dweights;

  int ranks() const { return group == nullptr ? 1 : group->ranks(); }
};

// What a forward leaves for its backward.
struct LayerContext {
  Tensor x; // input
  Tensor norm1, norm2;
  std::vector<float> inverse1, inverse2;
  Tensor qkv, attention, lse;
  Tensor middle; // after the first residual
  Routing routing;
  std::vector<std::int64_t> send_rows, receive_rows; // [rank]
  std::vector<std::int64_t> to;                      // padded row of each received row
  std::vector<std::int64_t> offsets;                 // of the local experts' padded rows
  Tensor expert_in, fc1_out, act, expert_out;        // padded rows
  Tensor combined;                                   // expert outputs in permuted order, back at their tokens
};

class MoeLayer {
 public:
  // `index` in the whole model, `ep_rank` of `ep`: which experts live here.
  MoeLayer(const LoopModel& model, int index, int ep_rank, int ep);

  void forward(const Tensor& x, Tensor& y, LayerContext& c, LayerRuntime& rt) const;
  // dx may be dy.
  void backward(const Tensor& dy, Tensor& dx, LayerContext& c, LayerRuntime& rt);

  std::vector<Parameter*> parameters();

 private:
  void attention_forward(const Tensor& x, LayerContext& c, LayerRuntime& rt) const;
  void dispatch(LayerContext& c, LayerRuntime& rt) const;
  void experts_forward(LayerContext& c, LayerRuntime& rt) const;
  void combine(LayerContext& c, LayerRuntime& rt) const;
  void combine_backward(const Tensor& dy, LayerContext& c, LayerRuntime& rt) const;
  void experts_backward(LayerContext& c, LayerRuntime& rt);
  void dispatch_backward(LayerContext& c, LayerRuntime& rt) const;
  void router_backward(const Tensor& dy, LayerContext& c, LayerRuntime& rt);
  void attention_backward(Tensor& dx, LayerContext& c, LayerRuntime& rt);
  void weight_gradients(LayerContext& c, LayerRuntime& rt);

  Parameter norm1_, qkv_, out_, norm2_, router_, fc1_, fc2_;
};

} // namespace tessella::calib
