#include "sim/planner/overlap/overlap_bound.h"

#include <algorithm>

namespace tessella {
namespace {

// A picosecond for the rounding of doubles: the bound stays below.
constexpr double kSlack = 1.0;

TwoJobShop shop_without_contention(const PairProblem& problem, const SearchJobs& jobs) {
  TwoJobShop shop;
  for (std::size_t half = 0; half < 2; ++half)
    for (const std::size_t t : jobs.chains[half])
      shop.jobs[half].push_back({static_cast<std::uint8_t>(problem.tasks[t].lane), {{problem.alone(t), Pace{}}}});
  return shop;
}

// Adds an op's part to the least loss and to the room.
void note_compute(const std::vector<TaskOp>& ops, double& loss, double& room_ps) {
  for (const TaskOp& op : ops) {
    if (op.work == Duration{}) continue;
    const double slowdown = op.beside.slowdown();
    loss = std::min(loss, 1.0 - 1.0 / slowdown);
    room_ps += static_cast<double>(op.work.ps) * slowdown + 1.0; // spans are rounded up
  }
}

} // namespace

OrderBound::OrderBound(const PairProblem& problem, const SearchJobs& jobs)
    : problem_(problem), jobs_(jobs), shop_(shop_without_contention(problem, jobs)), chains_(shop_) {
  for (const SearchJobs::MovableKind& k : jobs.kinds) {
    Kind kind;
    kind.work = problem.alone(k.tasks.front());
    note_compute(problem.ops[k.tasks.front()], kind.loss, kind.room_ps);
    kinds_.push_back(kind);
  }
  for (std::size_t half = 0; half < 2; ++half) add_chain(half);
}

void OrderBound::add_chain(std::size_t half) {
  const std::vector<std::size_t>& chain = jobs_.chains[half];
  std::vector<Suffix>& suffixes = suffixes_[half];
  suffixes.resize(chain.size() + 1);
  for (std::size_t i = chain.size(); i-- > 0;) {
    const std::size_t t = chain[i];
    const Duration alone = problem_.alone(t);
    Suffix s = suffixes[i + 1];
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      s.movable += kinds_[k].work * (jobs_.kinds[k].released[half][i + 1] - jobs_.kinds[k].released[half][i]);
    s.tail = alone + max(s.tail, s.compute + s.movable);
    if (problem_.tasks[t].lane == OpLane::ep) {
      if (!s.to_ep) after_last_ep_[half] = suffixes[i + 1].tail;
      s.to_ep = Duration{};
      s.ep += alone;
    } else {
      if (s.to_ep) *s.to_ep += alone;
      s.compute += alone;
      note_compute(problem_.ops[t], s.loss, s.room_ps);
    }
    suffixes[i] = s;
  }
}

Duration OrderBound::left_of_running(const SearchState& state, std::size_t lane) const {
  const Holder holder = state.holder[lane];
  const std::size_t task = holder <= 2 ? jobs_.chains[holder - 1U][state.done[holder - 1U]]
                                       : jobs_.kinds[holder - 3U].tasks.front(); // all have equal ops
  Duration left{state.left_ps[lane]};
  for (std::size_t op = state.op[lane] + 1U; op < problem_.ops[task].size(); ++op) left += problem_.ops[task][op].work;
  return left;
}

// The suffix that begins in the middle of the running task.
OrderBound::Suffix OrderBound::here(const SearchState& state, std::size_t half) const {
  const std::size_t done = state.done[half];
  const Suffix& whole = suffixes_[half][done];
  if (!state.runs_chain(half)) return whole;
  const std::size_t lane = state.holder[0] == chain_holder(half) ? 0 : 1;
  const Duration left = left_of_running(state, lane);
  Suffix s = suffixes_[half][done + 1];
  s.tail = left + max(s.tail, s.compute + whole.movable);
  (lane == 0 ? s.compute : s.ep) += left;
  if (lane == 1)
    s.to_ep = Duration{};
  else if (s.to_ep)
    *s.to_ep += left;
  s.loss = whole.loss;
  s.room_ps = whole.room_ps;
  return s;
}

Duration OrderBound::compute_bound(const SearchState& state, const std::array<Suffix, 2>& halves) const {
  Duration work = halves[0].compute + halves[1].compute;
  double loss = 1.0; // of movable tasks
  double room_ps = 0.0;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const auto left = static_cast<std::int64_t>(jobs_.kinds[k].tasks.size()) - state.moved[k];
    const bool runs = state.holder[0] == kind_holder(k);
    if (left == 0 && !runs) continue;
    work += kinds_[k].work * left;
    room_ps += kinds_[k].room_ps * static_cast<double>(left + (runs ? 1 : 0));
    loss = std::min(loss, kinds_[k].loss);
    if (runs) work += left_of_running(state, 0);
  }
  double cost = 0.0;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto exchange = static_cast<double>(halves[half].ep.ps);
    const double beside = std::min(exchange, halves[1 - half].room_ps + room_ps);
    cost += std::min(loss, halves[1 - half].loss) * beside + (exchange - beside);
  }
  return work + Duration{static_cast<std::int64_t>(std::max(0.0, cost - kSlack))};
}

Duration OrderBound::ep_bound(const std::array<Suffix, 2>& halves) const {
  std::optional<Duration> head;
  std::optional<Duration> tail;
  for (std::size_t half = 0; half < 2; ++half) {
    if (!halves[half].to_ep) continue;
    head = head ? min(*head, *halves[half].to_ep) : *halves[half].to_ep;
    tail = tail ? min(*tail, after_last_ep_[half]) : after_last_ep_[half];
  }
  if (!head) return {};
  return *head + halves[0].ep + halves[1].ep + *tail;
}

Duration OrderBound::chains_bound(const SearchState& state) const {
  Duration ahead;
  for (std::size_t lane = 0; lane < 2; ++lane) {
    const Holder holder = state.holder[lane];
    if (holder != chain_holder(0) && holder != chain_holder(1)) continue;
    const std::size_t half = holder - 1U;
    ahead = max(ahead, problem_.alone(jobs_.chains[half][state.done[half]]) - left_of_running(state, lane));
  }
  return chains_.from(state.done[0], state.done[1]) - ahead;
}

Duration OrderBound::rest(const SearchState& state) const {
  const std::array<Suffix, 2> halves{here(state, 0), here(state, 1)};
  Duration bound = max(halves[0].tail, halves[1].tail);
  bound = max(bound, compute_bound(state, halves));
  bound = max(bound, ep_bound(halves));
  return max(bound, chains_bound(state));
}

} // namespace tessella
