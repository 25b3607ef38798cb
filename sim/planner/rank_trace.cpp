#include "sim/planner/rank_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "sim/base/check.h"
#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
#include "sim/planner/stage_chains.h"

namespace tessella {
namespace {

struct Sized {
  std::string collective;
  std::string group;
  Bytes size;
};

// `sent` bytes leave this rank.
Sized sized(const std::string& collective, const std::string& group, std::int64_t n, double sent) {
  const auto ranks = static_cast<double>(n);
  double size = 0.0;
  if (n > 1) size = sent / (ranks - 1.0);
  if (collective != "ALL_GATHER") size *= ranks;
  if (collective == "ALL_REDUCE") size /= 2.0;
  return {collective, group, {std::llround(size)}};
}

// "all_gather node", "dispatch_deepep fabric": a profile row.
std::string chakra_name(const std::string& row) {
  if (row.starts_with("all_gather") || row.starts_with("send_recv")) return "ALL_GATHER";
  if (row.starts_with("reduce_scatter")) return "REDUCE_SCATTER";
  if (row.starts_with("all_reduce")) return "ALL_REDUCE";
  return "ALL_TO_ALL";
}

Sized sized(const OpCost& op, const Parallelism& p) {
  TSL_CHECK(!op.details.empty());
  double sent = 0.0;
  for (const OpDetail& d : op.details) sent += d.bytes;
  const std::string name = chakra_name(op.details.front().entry);
  if (op.cls == OpClass::ep) return sized(name, "ep", p.ep, sent);
  if (op.cls == OpClass::cp) return sized(name, "cp", p.cp, sent);
  if (op.details.front().name.starts_with("etp")) return sized(name, "etp", p.etp, sent);
  return sized(name, "tp", p.tp, sent);
}

// The collectives of a pass of a stage by op name, those of one name in the order in which they run.
using Collectives = std::map<std::string, std::vector<Sized>>;

Collectives collectives_of(const std::vector<const OpChain*>& chains, char kind, const Parallelism& p) {
  Collectives out;
  const auto take = [&](const std::vector<OpCost>& ops) {
    for (const OpCost& op : ops)
      if (op.cls != OpClass::compute) out[op.name].push_back(sized(op, p));
  };
  if (kind == 'F')
    for (const OpChain* chain : chains) take(chain->forward);
  else
    for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
      if (kind != 'W') take((*chain)->backward);
      if (kind != 'I') take((*chain)->wgrad);
    }
  return out;
}

// An action on this rank: its stage, kind and micro-batch.
using ActionKey = std::tuple<std::int32_t, char, std::int32_t>;

ActionKey key_of(const TraceEvent& e) {
  return {e.stage, e.kind, e.micro_batch};
}

class Tracer {
 public:
  Tracer(const Scenario& s, const RunResult& r, std::int32_t rank)
      : s_(s), result_(r), ops_(make_model_ops(s)), trace_{rank, {}} {}

  RankTrace run() {
    const std::int32_t step = result_.events.empty() ? 0 : result_.events.front().step;
    std::vector<Item> items;
    for (const TraceEvent& e : result_.events)
      if (e.rank == trace_.rank && e.step == step) items.push_back({e.begin, 2, &e, nullptr});
    for (const TraceFlow& f : result_.flows) {
      if (f.step != step) continue;
      if (f.to_rank == trace_.rank) items.push_back({f.arrived, 0, nullptr, &f});
      if (f.from_rank == trace_.rank) items.push_back({f.sent, 1, nullptr, &f});
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return std::tuple(a.at, a.rank) < std::tuple(b.at, b.rank); });
    for (const Item& item : items)
      if (item.event && item.event->op == "gather_parameters")
        gather(item.event->stage, item.event->begin, {*optimizer_});
      else if (item.event)
        op(*item.event);
      else if (item.rank == 0)
        receive(*item.flow);
      else
        send(*item.flow);
    if (s_.optimizer.overlap_param_gather) gather_ahead();
    return std::move(trace_);
  }

 private:
  struct Item {
    Time at;
    int rank; // at one time: receives, sends, ops
    const TraceEvent* event;
    const TraceFlow* flow;
  };

  std::size_t push(TraceNode node) {
    std::sort(node.after.begin(), node.after.end());
    node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
    trace_.nodes.push_back(std::move(node));
    return trace_.nodes.size() - 1;
  }

  Time end(std::size_t node) const { return trace_.nodes[node].begin + trace_.nodes[node].duration; }

  // The last op of the action that had ended by then.
  void after_action(const ActionKey& action, Time by, TraceNode& node) const {
    const auto chain = chains_.find(action);
    if (chain == chains_.end()) return;
    for (auto op = chain->second.rbegin(); op != chain->second.rend(); ++op)
      if (end(*op) <= by) {
        node.after.push_back(*op);
        return;
      }
  }

  void op(const TraceEvent& e) {
    TraceNode node;
    node.name = fmt::format("{}{}{} {}", e.stage, e.kind, e.micro_batch, e.op);
    node.begin = e.begin;
    node.duration = e.end - e.begin;
    if (e.lane != 0) {
      const Sized c = e.kind == 'D' ? reduction(e) : of_action(e);
      node.kind = TraceNode::Kind::collective;
      node.collective = c.collective;
      node.group = c.group;
      node.size = c.size;
    }
    const auto lane = lanes_.find(e.lane);
    if (lane != lanes_.end()) node.after.push_back(lane->second);
    if (e.kind == 'D' || e.kind == 'O') after_compute(e.begin, node);
    const ActionKey action = key_of(e);
    const auto input = inputs_.find(action);
    if (input != inputs_.end() && !chains_.contains(action)) node.after.push_back(input->second);
    after_action(action, e.begin, node);
    const std::size_t at = push(std::move(node));
    lanes_[e.lane] = at;
    if (e.kind == 'O') optimizer_ = at;
    if (e.op.find("wgrad") == std::string::npos) chains_[action].push_back(at);
  }

  // What runs at the end of a step waits for the last op of each other lane that had ended.
  void after_compute(Time by, TraceNode& node) const {
    for (const auto& [lane, last] : lanes_)
      if (end(last) <= by) node.after.push_back(last);
  }

  Sized of_action(const TraceEvent& e) {
    const auto [stage, fresh] = stages_.try_emplace(std::pair(e.stage, e.kind));
    if (fresh)
      stage->second = collectives_of(
          stage_chains(s_.model, s_.partition.stages[static_cast<std::size_t>(e.stage)], ops_), e.kind, s_.parallelism);
    const auto named = stage->second.find(e.op);
    const std::size_t nth = seen_[std::tuple(key_of(e), e.op)]++;
    TSL_CHECK(named != stage->second.end());
    TSL_CHECK_OP(nth, <, named->second.size());
    return named->second[nth];
  }

  Sized dense(const std::string& collective, double sent) const {
    return sized(collective, "dp", s_.parallelism.dp() * s_.parallelism.cp, sent);
  }
  Sized expert(const std::string& collective, double sent) const {
    return sized(collective, "expert_dp", s_.parallelism.edp(), sent);
  }

  RankParams params(std::int32_t stage) const {
    return rank_params(s_.model, s_.partition, std::span(&stage, 1), s_.parallelism);
  }

  // A reduction at the end of the step.
  Sized reduction(const TraceEvent& e) const {
    const RankParams p = params(e.stage);
    const char* reduce = s_.optimizer.distributed ? "REDUCE_SCATTER" : "ALL_REDUCE";
    if (e.op == "reduce_dense_gradients") return dense(reduce, grad_reduce(s_, p.dense, 0).bytes);
    return expert(reduce, grad_reduce(s_, 0, p.expert).bytes);
  }

  // Parameters of a stage, dense ones, then experts'.
  void gather(std::int32_t stage, Time begin, const std::vector<std::size_t>& after) {
    const RankParams p = params(stage);
    for (const bool experts : {false, true}) {
      const OpDetail d = experts ? param_gather(s_, 0, p.expert) : param_gather(s_, p.dense, 0);
      if (d.bytes <= 0.0) continue;
      const Sized c = experts ? expert("ALL_GATHER", d.bytes) : dense("ALL_GATHER", d.bytes);
      TraceNode node{TraceNode::Kind::collective,
                     fmt::format("{} gather_parameters", stage),
                     c.collective,
                     c.group,
                     c.size,
                     0,
                     0,
                     begin,
                     d.duration,
                     after};
      begin = begin + d.duration;
      push(std::move(node));
    }
  }

  // Under the next step's forwards.
  void gather_ahead() {
    if (!optimizer_) return;
    std::set<std::int32_t> stages;
    for (const auto& [action, ops] : chains_)
      if (std::get<1>(action) == 'F') stages.insert(std::get<0>(action));
    for (const std::int32_t stage : stages) gather(stage, end(*optimizer_), {*optimizer_});
  }

  // Both ends agree on it: what is sent, and by which stage.
  std::int32_t tag(const TraceFlow& f) const {
    const auto stages = static_cast<std::int32_t>(s_.partition.stages.size());
    return (f.micro_batch * stages + f.stage) * 2 + (f.kind == 'F' ? 0 : 1);
  }

  TraceNode message(TraceNode::Kind kind, const TraceFlow& f) const {
    const bool sends = kind == TraceNode::Kind::send;
    return {kind,
            fmt::format("{}{}{} {}", f.stage, f.kind, f.micro_batch, sends ? "send" : "receive"),
            "",
            "",
            ops_.p2p_message,
            sends ? f.to_rank : f.from_rank,
            tag(f),
            f.sent,
            f.arrived - f.sent,
            {}};
  }

  void receive(const TraceFlow& f) {
    TraceNode node = message(TraceNode::Kind::receive, f);
    node.begin = f.arrived; // where it stands in the order of this rank
    node.duration = {};
    const std::size_t at = push(std::move(node));
    const std::int32_t to = f.kind == 'F' ? f.stage + 1 : f.stage - 1;
    for (const char kind : std::string_view(f.kind == 'F' ? "F" : "BI")) inputs_[{to, kind, f.micro_batch}] = at;
  }

  void send(const TraceFlow& f) {
    TraceNode node = message(TraceNode::Kind::send, f);
    after_action({f.stage, f.kind, f.micro_batch}, f.sent, node);
    push(std::move(node));
  }

  const Scenario& s_;
  const RunResult& result_;
  ModelOps ops_;
  RankTrace trace_;
  std::map<std::pair<std::int32_t, char>, Collectives> stages_;
  std::map<std::tuple<ActionKey, std::string>, std::size_t> seen_; // collectives of an action so far, by name
  std::map<std::int32_t, std::size_t> lanes_;                      // the last op of each
  std::map<ActionKey, std::vector<std::size_t>> chains_;           // ops of an action that others wait for
  std::map<ActionKey, std::size_t> inputs_;                        // the message an action waits for
  std::optional<std::size_t> optimizer_;
};

} // namespace

TraceRequest trace_of_column(const Scenario& s, std::int32_t rank) {
  const auto per_position = static_cast<std::int32_t>(s.parallelism.world_size / s.parallelism.pp);
  TraceRequest request;
  for (std::int32_t p = 0; p < s.parallelism.pp; ++p) request.ranks.push_back(p * per_position + rank % per_position);
  request.steps = {0};
  return request;
}

RankTrace rank_trace(const Scenario& s, const RunResult& r, std::int32_t rank) {
  return Tracer(s, r, rank).run();
}

} // namespace tessella
