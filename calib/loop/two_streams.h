// Two in-order streams that slow each other down: what an overlapped forward-backward pair is made of. Predicts the
// makespan from times measured alone and factors measured beside a neighbour, by progress: an op that runs beside the
// other stream advances at 1 / factor, and the rate changes when the neighbour starts or ends. The rule of the
// simulator's pairs (sim/README.md), written again.
#pragma once

#include <string>
#include <vector>

namespace tessella::calib {

struct StreamOp {
  std::string name;
  int stream = 0;                 // 0 or 1
  double seconds = 0.0;           // alone
  double factor = 1.0;            // >= 1: of its time while the other stream is busy
  std::vector<std::size_t> after; // indices of ops that must have ended, besides the one before it in its stream
};

struct StreamSpan {
  double begin = 0.0;
  double end = 0.0;
};

// Spans of all ops, in their order; ops of a stream run in the order of the list. O(n^2). Throws
// std::invalid_argument when the ops wait for each other in a circle.
std::vector<StreamSpan> replay(const std::vector<StreamOp>& ops);

double makespan(const std::vector<StreamSpan>& spans);

// One layer's forward beside another's backward, in the order of DeepSeek's DualPipe trace (compute: attention F, MLP
// B, MLP W, MLP F, attention B, attention W; communication: combine B, dispatch F, dispatch B, combine F). Durations
// and factors are those of the arguments, in this order.
struct PairTimes {
  double attention_f = 0, mlp_b = 0, mlp_w = 0, mlp_f = 0, attention_b = 0, attention_w = 0;
  double combine_b = 0, dispatch_f = 0, dispatch_b = 0, combine_f = 0;
};
std::vector<StreamOp> layer_pair(const PairTimes& seconds, const PairTimes& factors);

} // namespace tessella::calib
