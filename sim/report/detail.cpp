#include "sim/report/detail.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t nanoseconds(Time t) {
  return t.ps / 1000;
}

struct ActionSpan {
  char kind = 'F';
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  Time begin;
  Time end;
};

// Event i of the rank belongs to actions[of[i]].
struct RankActions {
  std::vector<ActionSpan> actions;
  std::vector<std::size_t> of;
};

// Ops of F, B and I belong together however far apart; other kinds (W, D, O) only without a gap.
RankActions actions_of(const std::vector<const TraceEvent*>& events) {
  RankActions out;
  std::map<std::tuple<char, std::int32_t, std::int32_t>, std::size_t> open;
  for (const TraceEvent* e : events) {
    const auto [at, is_new] = open.try_emplace({e->kind, e->stage, e->micro_batch}, out.actions.size());
    const bool whole = e->kind == 'F' || e->kind == 'B' || e->kind == 'I';
    if (is_new || (!whole && out.actions[at->second].end < e->begin)) {
      at->second = out.actions.size();
      out.actions.push_back({e->kind, e->stage, e->micro_batch, e->begin, e->end});
    }
    out.actions[at->second].end = std::max(out.actions[at->second].end, e->end);
    out.of.push_back(at->second);
  }
  return out;
}

Json actions_json(const std::vector<ActionSpan>& actions) {
  Json begin = Json::array(), end = Json::array(), stage = Json::array(), micro_batch = Json::array();
  std::string kind;
  for (const ActionSpan& a : actions) {
    begin.push_back(nanoseconds(a.begin));
    end.push_back(nanoseconds(a.end));
    kind += a.kind;
    stage.push_back(a.stage);
    micro_batch.push_back(a.micro_batch);
  }
  return {{"begin_ns", std::move(begin)},
          {"end_ns", std::move(end)},
          {"kind", std::move(kind)},
          {"stage", std::move(stage)},
          {"micro_batch", std::move(micro_batch)}};
}

struct OpNames {
  std::map<std::string, std::size_t> index;
  std::vector<std::string> names;
  std::size_t of(const std::string& name) {
    const auto [at, is_new] = index.try_emplace(name, names.size());
    if (is_new) names.push_back(name);
    return at->second;
  }
};

struct Window {
  Time from;
  Time to; // ops that begin before it
};

Json ops_json(const std::vector<const TraceEvent*>& events, const RankActions& actions, Window window, OpNames& names) {
  Json begin = Json::array(), end = Json::array(), lane = Json::array(), name = Json::array(), action = Json::array();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& e = *events[i];
    if (e.begin < window.from || e.begin >= window.to) continue;
    begin.push_back(nanoseconds(e.begin));
    end.push_back(nanoseconds(e.end));
    lane.push_back(e.lane);
    name.push_back(names.of(e.op));
    action.push_back(actions.of[i]);
  }
  return {{"begin_ns", std::move(begin)},
          {"end_ns", std::move(end)},
          {"lane", std::move(lane)},
          {"name", std::move(name)},
          {"action", std::move(action)}};
}

// Of the first traced step, by rank, in time order.
std::map<std::int32_t, std::vector<const TraceEvent*>> events_by_rank(const RunResult& r) {
  std::map<std::int32_t, std::vector<const TraceEvent*>> out;
  std::optional<std::int32_t> step;
  for (const TraceEvent& e : r.events) step = std::min(step.value_or(e.step), e.step);
  for (const TraceEvent& e : r.events)
    if (e.step == step) out[e.rank].push_back(&e);
  for (auto& [rank, events] : out)
    std::stable_sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
      return std::tuple(a->begin, a->end) < std::tuple(b->begin, b->end);
    });
  return out;
}

// The part of the step in its middle that holds at most kMaxTimelineOps ops.
Window window_of(const std::map<std::int32_t, std::vector<const TraceEvent*>>& by_rank) {
  std::vector<Time> begins;
  Time last{0};
  for (const auto& [rank, events] : by_rank)
    for (const TraceEvent* e : events) {
      begins.push_back(e->begin);
      last = std::max(last, e->end);
    }
  if (begins.size() <= kMaxTimelineOps) return {{0}, last};
  std::sort(begins.begin(), begins.end());
  const std::size_t first = (begins.size() - kMaxTimelineOps) / 2;
  // The ops that begin at the very ends may be cut among equals, so both ends give way.
  return {begins[first - 1] + Duration{1}, begins[first + kMaxTimelineOps]};
}

Json timeline_json(const Scenario& s, const RunResult& r) {
  const auto by_rank = events_by_rank(r);
  const Window window = window_of(by_rank);
  OpNames names;
  Json ranks = Json::array();
  for (const auto& [rank, events] : by_rank) {
    const RankActions actions = actions_of(events);
    ranks.push_back({{"rank", rank},
                     {"name", rank_name(s.parallelism, rank)},
                     {"actions", actions_json(actions.actions)},
                     {"ops", ops_json(events, actions, window, names)}});
  }
  return {{"lanes", r.lanes},
          {"op_names", names.names},
          {"ops_from_ns", nanoseconds(window.from)},
          {"ops_to_ns", nanoseconds(window.to)},
          {"ranks", std::move(ranks)}};
}

Json rank_ledger_json(const RunResult& r) {
  Json rows = Json::array();
  for (const LedgerRow& row : r.rank_rows) {
    Json one = Json::array();
    for (const Duration share : row.share) one.push_back(share.ps);
    rows.push_back(std::move(one));
  }
  return rows;
}

} // namespace

std::string detail_json(const Scenario& s, const RunResult& r) {
  Json shares = Json::array();
  for (int i = 0; i < kNumShares; ++i) shares.push_back(name(static_cast<Share>(i)));
  const Json root = {
      {"shares", std::move(shares)}, {"rank_ledger_ps", rank_ledger_json(r)}, {"timeline", timeline_json(s, r)}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace tessella
