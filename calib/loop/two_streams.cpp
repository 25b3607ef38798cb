#include "calib/loop/two_streams.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tessella::calib {
namespace {

class Replay {
 public:
  explicit Replay(const std::vector<StreamOp>& ops) : ops_(ops), spans_(ops.size()), done_(ops.size(), false) {
    for (std::size_t i = 0; i < ops.size(); ++i) queue_[static_cast<std::size_t>(ops[i].stream)].push_back(i);
  }

  std::vector<StreamSpan> run() {
    for (;;) {
      for (std::size_t s = 0; s < 2; ++s) start(s);
      if (!running_[0] && !running_[1]) break;
      advance();
    }
    if (next_[0] < queue_[0].size() || next_[1] < queue_[1].size())
      throw std::invalid_argument("ops wait for each other");
    return spans_;
  }

 private:
  void start(std::size_t stream) {
    if (running_[stream] || next_[stream] == queue_[stream].size()) return;
    const std::size_t op = queue_[stream][next_[stream]];
    for (const std::size_t before : ops_[op].after)
      if (!done_[before]) return;
    running_[stream] = op;
    left_[stream] = ops_[op].seconds;
    spans_[op].begin = now_;
    ++next_[stream];
  }

  double rate(std::size_t stream) const {
    const bool beside = running_[0].has_value() && running_[1].has_value();
    return beside ? 1.0 / ops_[*running_[stream]].factor : 1.0;
  }

  // To the next end of an op.
  void advance() {
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < 2; ++s)
      if (running_[s]) step = std::min(step, left_[s] / rate(s));
    const std::array rates = {running_[0] ? rate(0) : 0.0, running_[1] ? rate(1) : 0.0};
    now_ += step;
    for (std::size_t s = 0; s < 2; ++s) {
      if (!running_[s]) continue;
      left_[s] -= step * rates[s];
      if (left_[s] > 1e-15) continue;
      spans_[*running_[s]].end = now_;
      done_[*running_[s]] = true;
      running_[s].reset();
    }
  }

  const std::vector<StreamOp>& ops_;
  std::vector<StreamSpan> spans_;
  std::vector<bool> done_;
  std::array<std::vector<std::size_t>, 2> queue_;
  std::array<std::size_t, 2> next_{};
  std::array<std::optional<std::size_t>, 2> running_;
  std::array<double, 2> left_{};
  double now_ = 0.0;
};

} // namespace

std::vector<StreamSpan> replay(const std::vector<StreamOp>& ops) {
  return Replay(ops).run();
}

double makespan(const std::vector<StreamSpan>& spans) {
  double end = 0.0;
  for (const StreamSpan& s : spans) end = std::max(end, s.end);
  return end;
}

std::vector<StreamOp> layer_pair(const PairTimes& t, const PairTimes& f) {
  // Indices:                                                              0 .. 5 compute, 6 .. 9 communication
  return {{"attention F", 0, t.attention_f, f.attention_f, {}},
          {"mlp B", 0, t.mlp_b, f.mlp_b, {6}},
          {"mlp W", 0, t.mlp_w, f.mlp_w, {}},
          {"mlp F", 0, t.mlp_f, f.mlp_f, {7}},
          {"attention B", 0, t.attention_b, f.attention_b, {8}},
          {"attention W", 0, t.attention_w, f.attention_w, {}},
          {"combine B", 1, t.combine_b, f.combine_b, {}},
          {"dispatch F", 1, t.dispatch_f, f.dispatch_f, {0}},
          {"dispatch B", 1, t.dispatch_b, f.dispatch_b, {1}},
          {"combine F", 1, t.combine_f, f.combine_f, {3}}};
}

} // namespace tessella::calib
