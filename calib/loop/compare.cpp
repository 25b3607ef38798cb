#include "calib/loop/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/base/check.h"

namespace tessella::calib {
namespace {

bool undisturbed(const ExecutedStep& s) {
  return s.disturbed <= kDisturbedShare * s.seconds;
}

std::vector<const ExecutedStep*> usable_steps(const std::vector<ExecutedStep>& steps) {
  std::vector<const ExecutedStep*> all;
  for (const ExecutedStep& s : steps)
    if (undisturbed(s)) all.push_back(&s);
  if (!all.empty()) return all;
  for (const ExecutedStep& s : steps) all.push_back(&s);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->disturbed < b->disturbed; });
  all.resize(std::max<std::size_t>(1, all.size() / 4));
  return all;
}

// First begin and last end of every action of a rank, in order of begin.
struct Span {
  Action action;
  double begin = 0.0;
  double end = 0.0;
};

class Spans {
 public:
  void add(const Action& a, double begin, double end) {
    const auto [it, fresh] = spans_.try_emplace(a, Span{a, begin, end});
    if (fresh) return;
    it->second.begin = std::min(it->second.begin, begin);
    it->second.end = std::max(it->second.end, end);
  }
  std::vector<Span> in_order() const {
    std::vector<Span> list;
    for (const auto& [action, span] : spans_) list.push_back(span);
    std::sort(list.begin(), list.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    return list;
  }

 private:
  std::map<Action, Span> spans_;
};

std::vector<std::vector<Span>> spans_of(const ExecutedStep& step) {
  std::vector<std::vector<Span>> ranks;
  for (const auto& events : step.events) {
    Spans spans;
    for (const LoopEvent& e : events)
      if (e.in_action && e.lane != LoopLane::p2p) spans.add(e.action, e.begin, e.end);
    ranks.push_back(spans.in_order());
  }
  return ranks;
}

std::vector<std::vector<Span>> spans_of(const SimulatedStep& step, int ranks) {
  std::vector<Spans> spans(static_cast<std::size_t>(ranks));
  for (const SimulatedOp& op : step.ops)
    if (op.in_action && op.rank < ranks) spans[static_cast<std::size_t>(op.rank)].add(op.action, op.begin, op.end);
  std::vector<std::vector<Span>> list;
  for (const Spans& s : spans) list.push_back(s.in_order());
  return list;
}

using StageKey = std::pair<int, ActionKind>;
using StageSamples = std::map<StageKey, std::vector<double>>;

void collect(const std::vector<std::vector<Span>>& ranks, StageSamples& samples) {
  for (const auto& rank : ranks)
    for (const Span& s : rank) samples[{s.action.stage.value, s.action.kind}].push_back(s.end - s.begin);
}

std::string order_difference(const std::vector<std::vector<Span>>& measured,
                             const std::vector<std::vector<Span>>& simulated) {
  for (std::size_t r = 0; r < measured.size(); ++r) {
    const std::size_t n = std::max(measured[r].size(), simulated[r].size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::string m = i < measured[r].size() ? to_text(measured[r][i].action) : "nothing";
      const std::string s = i < simulated[r].size() ? to_text(simulated[r][i].action) : "nothing";
      if (m != s) return fmt::format("rank {}, action {}: executed {}, simulated {}", r, i, m, s);
    }
  }
  return "";
}

Shares shares_of(const ExecutedStep& step) {
  Shares s;
  for (const auto& events : step.events) {
    for (const LoopEvent& e : events) {
      const double moving = e.end - e.begin - e.waited;
      switch (e.lane) {
      case LoopLane::ep:
        s.exposed_ep += moving;
        s.imbalance += e.waited;
        break;
      case LoopLane::dp: // the first to meet after the pipeline waits for it to drain
        s.exposed_dp += moving;
        s.bubble += e.waited;
        break;
      case LoopLane::p2p:
        s.exposed_pp += moving;
        s.bubble += e.waited;
        break;
      case LoopLane::compute:
        break;
      }
    }
  }
  const double total = step.seconds * static_cast<double>(step.events.size());
  for (double* share : {&s.exposed_ep, &s.exposed_pp, &s.exposed_dp, &s.imbalance, &s.bubble}) *share /= total;
  return s;
}

void slice(std::string& out, int pid, int tid, const std::string& name, double begin, double end) {
  out += fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"name\":\"{}\"}},\n", pid, tid,
                     begin * 1e6, (end - begin) * 1e6, name);
}

void label(std::string& out, const char* what, int pid, int tid, const std::string& name) {
  out += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":\"{}\"}}}},\n", pid, tid,
                     what, name);
}

} // namespace

const ExecutedStep& typical_step(const std::vector<ExecutedStep>& steps) {
  TSL_CHECK(!steps.empty());
  const auto usable = usable_steps(steps);
  std::vector<double> seconds;
  for (const ExecutedStep* s : usable) seconds.push_back(s->seconds);
  const double middle = median(seconds);
  return **std::min_element(usable.begin(), usable.end(), [middle](const auto* a, const auto* b) {
    return std::abs(a->seconds - middle) < std::abs(b->seconds - middle);
  });
}

Comparison compare(const LoopPlan& plan, const std::vector<ExecutedStep>& steps, const SimulatedStep& simulated) {
  Comparison c;
  c.plan = plan;
  std::vector<double> seconds;
  StageSamples measured_stages;
  const auto usable = usable_steps(steps);
  for (const ExecutedStep* s : usable) {
    seconds.push_back(s->seconds);
    collect(spans_of(*s), measured_stages);
    const Shares shares = shares_of(*s);
    const double n = static_cast<double>(usable.size());
    c.measured_shares.exposed_ep += shares.exposed_ep / n;
    c.measured_shares.exposed_pp += shares.exposed_pp / n;
    c.measured_shares.exposed_dp += shares.exposed_dp / n;
    c.measured_shares.imbalance += shares.imbalance / n;
    c.measured_shares.bubble += shares.bubble / n;
  }
  c.step = summary_of(seconds);
  c.disturbed = std::count_if(steps.begin(), steps.end(), [](const ExecutedStep& s) { return !undisturbed(s); });
  c.simulated = simulated.seconds;
  c.error = simulated.seconds / c.step.median - 1.0;
  c.simulated_shares = {simulated.exposed_ep, simulated.exposed_pp, simulated.exposed_dp, simulated.imbalance,
                        simulated.bubble};
  const auto simulated_spans = spans_of(simulated, plan.world());
  StageSamples simulated_stages;
  collect(simulated_spans, simulated_stages);
  for (const auto& [key, samples] : measured_stages)
    c.stages.push_back({key.first, key.second, median(samples), median(simulated_stages[key])});
  c.order_difference = order_difference(spans_of(typical_step(steps)), simulated_spans);
  c.same_order = c.order_difference.empty();
  return c;
}

std::string side_by_side_trace(const ExecutedStep& measured, const SimulatedStep& simulated) {
  constexpr int kSimulated = 1000; // first process of the simulation
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const int ranks = static_cast<int>(measured.events.size());
  for (int r = 0; r < ranks; ++r) {
    label(out, "process_name", 2 * r, 0, fmt::format("rank {} measured", r));
    for (const LoopLane lane : {LoopLane::compute, LoopLane::ep, LoopLane::p2p, LoopLane::dp})
      label(out, "thread_name", 2 * r, static_cast<int>(lane), name(lane));
    for (const LoopEvent& e : measured.events[static_cast<std::size_t>(r)]) {
      const std::string action = e.in_action ? to_text(e.action) + " " : "";
      const int lane = static_cast<int>(e.lane);
      if (e.waited > 0.0) slice(out, 2 * r, lane, action + "wait", e.begin, e.begin + e.waited);
      slice(out, 2 * r, lane, action + e.op, e.begin + e.waited, e.end);
    }
  }
  std::map<std::pair<int, std::string>, int> lanes;
  for (const SimulatedOp& op : simulated.ops) {
    const int pid = op.rank < ranks ? 2 * op.rank + 1 : kSimulated + op.rank;
    const auto [it, fresh] = lanes.try_emplace({op.rank, op.lane}, static_cast<int>(lanes.size()));
    if (fresh) {
      label(out, "process_name", pid, 0, fmt::format("rank {} simulated", op.rank));
      label(out, "thread_name", pid, it->second, op.lane);
    }
    slice(out, pid, it->second, op.name, op.begin, op.end);
  }
  out.resize(out.size() - 2); // the last comma
  return out + "\n]}\n";
}

Ranking rank_pairs(const std::vector<Comparison>& all, double margin) {
  Ranking r;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const double slower = std::max(all[a].step.median, all[b].step.median);
      const double faster = std::min(all[a].step.median, all[b].step.median);
      if (slower <= (1.0 + margin) * faster) continue;
      ++r.pairs;
      const bool measured_less = all[a].step.median < all[b].step.median;
      const bool simulated_less = all[a].simulated < all[b].simulated;
      if (measured_less != simulated_less) ++r.wrong;
    }
  }
  return r;
}

} // namespace tessella::calib
