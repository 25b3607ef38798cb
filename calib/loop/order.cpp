#include "calib/loop/order.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

Action action(int stage, ActionKind kind, int micro_batch) {
  return {Stage(stage), kind, MicroBatch(micro_batch)};
}

// Forwards (or backwards) of one rank: groups of pp micro-batches pass the rank's chunks one after another, backwards
// from the last chunk.
std::vector<Action> pass_order(const LoopPlan& p, int rank, ActionKind kind) {
  std::vector<Action> list;
  for (int first = 0; first < p.micro_batches; first += p.pp) {
    for (int c = 0; c < p.vpp(); ++c) {
      const int chunk = kind == ActionKind::F ? c : p.vpp() - 1 - c;
      for (int m = first; m < std::min(first + p.pp, p.micro_batches); ++m)
        list.push_back(action(chunk * p.pp + rank, kind, m));
    }
  }
  return list;
}

int warm_up(const LoopPlan& p, int rank) {
  if (p.schedule == "gpipe") return p.micro_batches;
  const int stages_behind = p.pp - 1 - rank;
  const int all = p.micro_batches * p.vpp();
  return std::min(all, p.vpp() == 1 ? stages_behind : 2 * stages_behind + (p.vpp() - 1) * p.pp);
}

} // namespace

std::vector<std::vector<Action>> order_of(const LoopPlan& p) {
  const bool interleaved = p.schedule == "interleaved_1f1b";
  if (!interleaved && p.schedule != "1f1b" && p.schedule != "gpipe")
    throw InputError(p.name, fmt::format("the closed loop runs gpipe, 1f1b and interleaved_1f1b, not {}", p.schedule));
  if (interleaved != (p.vpp() > 1) || p.stages() % p.pp != 0)
    throw InputError(p.name, fmt::format("{} stages on {} ranks do not fit schedule {}", p.stages(), p.pp, p.schedule));
  if (interleaved && p.micro_batches % p.pp != 0)
    throw InputError(p.name, fmt::format("{} micro-batches are no multiple of {} ranks", p.micro_batches, p.pp));
  std::vector<std::vector<Action>> order;
  for (int rank = 0; rank < p.pp; ++rank) {
    const std::vector<Action> forwards = pass_order(p, rank, ActionKind::F);
    const std::vector<Action> backwards = pass_order(p, rank, ActionKind::B);
    const auto early = static_cast<std::size_t>(warm_up(p, rank));
    std::vector<Action> list(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(early));
    for (std::size_t i = early; i < forwards.size(); ++i) {
      list.push_back(forwards[i]);
      list.push_back(backwards[i - early]);
    }
    list.insert(list.end(), backwards.end() - static_cast<std::ptrdiff_t>(early), backwards.end());
    order.push_back(std::move(list));
  }
  return order;
}

} // namespace tessella::calib
