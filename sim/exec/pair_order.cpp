#include "sim/exec/pair_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/base/check.h"
#include "sim/base/nearest.h"

namespace tessella {
namespace {

// The tasks of one piece, by when Megatron issues them: forward attention, dispatch, experts, combine, join; backward
// combine, experts, experts' weight gradients, dispatch, attention, other weight gradients.
using Slots = std::array<std::vector<std::size_t>, 6>;

std::size_t forward_slot(TaskPart part) {
  switch (part) {
  case TaskPart::dispatch:
    return 1;
  case TaskPart::experts:
    return 2;
  case TaskPart::combine:
    return 3;
  case TaskPart::join:
    return 4;
  case TaskPart::embedding:
  case TaskPart::attention:
  case TaskPart::mtp:
  case TaskPart::head:
    break;
  }
  return 0;
}

std::size_t backward_slot(const TaskId& id) {
  if (id.weight_gradient) return id.part == TaskPart::experts ? 2 : 5;
  constexpr std::array<std::size_t, 5> mirrored = {4, 3, 1, 0, 0};
  return mirrored[forward_slot(id.part)];
}

// [piece in forward order]
std::vector<Slots> slots_of(std::span<const PairTask> tasks, std::size_t half, ActionKind pass) {
  std::vector<Slots> pieces;
  for (const PairTask& t : tasks)
    if (t.id.half == half) pieces.resize(std::max(pieces.size(), static_cast<std::size_t>(t.id.piece) + 1));
  std::vector<std::size_t> next(pieces.size(), 5); // backward: no task stands behind its successor in the chain
  for (std::size_t t = tasks.size(); t-- > 0;) {
    const TaskId& id = tasks[t].id;
    if (id.half != half) continue;
    const auto piece = static_cast<std::size_t>(id.piece);
    std::size_t slot = pass == ActionKind::F ? forward_slot(id.part) : backward_slot(id);
    if (pass == ActionKind::B && !id.weight_gradient) slot = next[piece] = std::min(slot, next[piece]);
    auto& tasks_of_slot = pieces[piece][slot];
    tasks_of_slot.insert(tasks_of_slot.begin(), t);
  }
  return pieces;
}

// Where each task stands in `tasks`.
std::map<TaskId, std::size_t> index_of(std::span<const PairTask> tasks) {
  std::map<TaskId, std::size_t> index;
  for (std::size_t t = 0; t < tasks.size(); ++t) index[tasks[t].id] = t;
  return index;
}

// Merges the lanes into one issue order: an exchange as soon as the task it follows is issued, else the next compute
// task. So nothing that can run beside a compute task stands behind it. Returns how far each lane got, by OpLane.
template <class Issue>
std::array<std::size_t, 2> merge(std::span<const PairTask> tasks, const PairPlan& plan, const Issue& issue) {
  const std::map<TaskId, std::size_t> index = index_of(tasks);
  std::vector<bool> issued(tasks.size(), false);
  std::array<std::size_t, 2> next{};
  const auto try_lane = [&](OpLane which) {
    const std::vector<TaskId>& lane = which == OpLane::ep ? plan.ep : plan.compute;
    std::size_t& at = next[static_cast<std::size_t>(which)];
    if (at == lane.size()) return false;
    const std::size_t t = index.at(lane[at]);
    if (tasks[t].after && !issued[*tasks[t].after]) return false;
    issued[t] = true;
    ++at;
    issue(t);
    return true;
  };
  while (try_lane(OpLane::ep) || try_lane(OpLane::compute)) {
  }
  return next;
}

// What stands wrong on its lane, or nothing.
std::optional<OrderProblem> misplaced_task(std::span<const PairTask> tasks, const PairPlan& plan) {
  const std::map<TaskId, std::size_t> index = index_of(tasks);
  std::vector<std::string> names;
  for (const PairTask& t : tasks) names.push_back(to_text(t.id, plan.passes));
  std::vector<int> seen(tasks.size(), 0);
  for (const OpLane lane : {OpLane::compute, OpLane::ep}) {
    const std::vector<TaskId>& order = lane == OpLane::ep ? plan.ep : plan.compute;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::string name = to_text(order[i], plan.passes);
      const auto found = index.find(order[i]);
      if (found == index.end())
        return OrderProblem{fmt::format("task {} does not exist in this pair{}", name, did_you_mean(name, names)), lane,
                            i};
      if (tasks[found->second].lane != lane)
        return OrderProblem{fmt::format("task {} runs on the {} lane", name, lane == OpLane::ep ? "compute" : "ep"),
                            lane, i};
      if (++seen[found->second] > 1) return OrderProblem{fmt::format("task {} occurs twice", name), lane, i};
    }
  }
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (seen[t] == 0) return OrderProblem{fmt::format("task {} is missing", names[t]), tasks[t].lane, std::nullopt};
  return std::nullopt;
}

// Compute that waits for an exchange: a rank may fill that wait.
bool waits_for_exchange(std::span<const PairTask> tasks, std::size_t task) {
  return tasks[task].lane == OpLane::compute && tasks[task].after && tasks[*tasks[task].after].lane == OpLane::ep;
}

} // namespace

PairPlan megatron_order(std::span<const PairTask> tasks, const PairPasses& passes) {
  const std::size_t f = passes[0] == ActionKind::F ? 0 : 1;
  TSL_CHECK(passes[f] == ActionKind::F && passes[1 - f] == ActionKind::B);
  const std::vector<Slots> forward = slots_of(tasks, f, ActionKind::F);
  const std::vector<Slots> backward = slots_of(tasks, 1 - f, ActionKind::B);
  PairPlan plan;
  plan.passes = passes;
  const auto add = [&](const std::vector<std::size_t>& slot) {
    for (const std::size_t t : slot) (tasks[t].lane == OpLane::ep ? plan.ep : plan.compute).push_back(tasks[t].id);
  };
  const Slots none;
  for (std::size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
    const Slots& b = i < backward.size() ? backward[backward.size() - 1 - i] : none;
    const Slots& now = i < forward.size() ? forward[i] : none;
    add(b[0]);
    // The join of a forward piece waits for its combine, so it gives way to the next backward piece, whose combine must
    // leave early.
    if (i > 0 && i < forward.size()) add(forward[i - 1][4]);
    add(now[0]);
    add(b[1]);
    add(now[1]);
    add(b[2]);
    add(b[3]);
    add(now[2]);
    add(b[4]);
    add(b[5]);
    add(now[3]);
  }
  if (!forward.empty()) add(forward.back()[4]);
  return plan;
}

std::optional<OrderProblem> order_problem(std::span<const PairTask> tasks, const PairPlan& plan) {
  if (auto problem = misplaced_task(tasks, plan)) return problem;
  const auto [compute, ep] = merge(tasks, plan, [](std::size_t) {});
  if (compute == plan.compute.size() && ep == plan.ep.size()) return std::nullopt;
  const std::map<TaskId, std::size_t> index = index_of(tasks);
  std::string message = "the lanes wait for each other:";
  for (const auto& [lane, at] : {std::pair(&plan.compute, compute), std::pair(&plan.ep, ep)}) {
    if (at == lane->size()) continue;
    const PairTask& task = tasks[index.at((*lane)[at])];
    message +=
        fmt::format(" {} waits for {};", to_text(task.id, plan.passes), to_text(tasks[*task.after].id, plan.passes));
  }
  message.pop_back();
  return OrderProblem{message, OpLane::compute, std::nullopt};
}

Template lower_pair(const PairTasks& pair, const PairPlan& plan) {
  Template t;
  t.overlapped = true;
  std::vector<std::uint16_t> last(pair.tasks.size()); // of each task: place of its last op
  bool after_moe = false;                             // the compute task before was MoE compute
  const auto [compute, ep] = merge(pair.tasks, plan, [&](std::size_t task) {
    std::optional<std::uint16_t> after;
    if (const auto a = pair.tasks[task].after) after = last[*a];
    const bool fills = waits_for_exchange(pair.tasks, task);
    const bool behind_moe = after_moe;
    if (pair.tasks[task].lane == OpLane::compute) after_moe = pair.tasks[task].id.part == TaskPart::experts;
    const std::size_t first = t.ops.size();
    for (Op op : pair.ops[task]) {
      op.first_dep = static_cast<std::uint16_t>(t.deps.size());
      op.num_deps = after ? 1 : 0;
      if (after) t.deps.push_back(*after);
      after = static_cast<std::uint16_t>(t.ops.size());
      t.ops.push_back(op);
    }
    if (fills) {
      t.ops[first].fill_point = 1;
      t.ops[first].after_moe = behind_moe;
    }
    last[task] = *after;
  });
  for (std::size_t task = 0; task < pair.tasks.size(); ++task)
    if (!pair.tasks[task].movable) t.sends[pair.tasks[task].id.half] = last[task]; // the end of its chain
  TSL_CHECK_OP(compute + ep, ==, pair.tasks.size()); // else the two lane orders contradict each other
  return t;
}

} // namespace tessella
