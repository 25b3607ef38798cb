#include "sim/planner/overlap/overlap_moves.h"

namespace tessella {

PairMoves::PairMoves(const PairProblem& problem, const SearchJobs& jobs) : problem_(problem), jobs_(jobs) {
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t i = 0; i < jobs.chains[half].size(); ++i)
      last_on_lane_[half][static_cast<std::size_t>(problem.tasks[jobs.chains[half][i]].lane)] = i + 1;
}

const std::vector<TaskOp>& PairMoves::ops(const SearchState& state, Holder holder) const {
  // Movable tasks of a kind have equal ops.
  return problem_
      .ops[holder <= 2 ? jobs_.chains[holder - 1U][state.done[holder - 1U]] : jobs_.kinds[holder - 3U].tasks.front()];
}

// A task beyond the one that runs or is ready.
bool PairMoves::needs_lane_later(const SearchState& state, std::size_t half, std::size_t lane) const {
  return last_on_lane_[half][lane] > state.done[half] + (state.runs_chain(half) ? 1U : 0U);
}

void PairMoves::choices(const SearchState& state, std::size_t lane, std::vector<LaneChoice>& out) const {
  out.clear();
  if (state.holder[lane] != kNobody) return out.push_back({});
  const bool waits = state.waits[lane] != 0;
  bool awaited = false;
  for (std::size_t half = 0; half < 2; ++half) {
    const std::vector<std::size_t>& chain = jobs_.chains[half];
    const std::size_t done = state.done[half];
    const bool ready = done < chain.size() && !state.runs_chain(half) &&
                       static_cast<std::size_t>(problem_.tasks[chain[done]].lane) == lane;
    if (!ready)
      awaited = awaited || needs_lane_later(state, half, lane);
    else if (!waits || state.fresh[half] != 0)
      out.push_back({chain_holder(half), false});
  }
  if (lane == static_cast<std::size_t>(OpLane::compute) && !waits)
    for (std::size_t k = 0; k < jobs_.kinds.size(); ++k) {
      const auto& released = jobs_.kinds[k].released;
      if (released[0][state.done[0]] + released[1][state.done[1]] > state.moved[k])
        out.push_back({kind_holder(k), false});
    }
  if (out.empty())
    out.push_back({kNobody, waits}); // nothing to take
  else if (awaited)
    out.push_back({kNobody, true});
}

bool PairMoves::step(SearchState& state, const std::array<LaneChoice, 2>& choice, Duration& elapsed) const {
  std::array<LaneWork, 2> work;
  for (std::size_t lane = 0; lane < 2; ++lane) {
    const Holder takes = choice[lane].takes;
    state.waits[lane] = choice[lane].waits ? 1 : 0;
    if (takes != kNobody) {
      state.holder[lane] = takes;
      if (takes > 2) ++state.moved[takes - 3U];
      state.left_ps[lane] = ops(state, takes).front().work.ps;
    }
    if (state.holder[lane] != kNobody)
      work[lane] = {ops(state, state.holder[lane]).data() + state.op[lane], {state.left_ps[lane]}};
  }
  if (!work[0].op && !work[1].op) return false;
  state.fresh = {};
  for (bool ended = false; !ended;) {
    const LaneStep done = advance(work[0], work[1]);
    elapsed += done.elapsed;
    for (std::size_t lane = 0; lane < 2; ++lane) {
      if (!(lane == 0 ? done.compute_ended : done.ep_ended)) continue;
      const Holder holder = state.holder[lane];
      const std::vector<TaskOp>& all = ops(state, holder);
      if (++work[lane].op != all.data() + all.size()) {
        work[lane].left = work[lane].op->work;
        ++state.op[lane];
        continue;
      }
      ended = true;
      work[lane] = {};
      state.holder[lane] = kNobody;
      state.op[lane] = 0;
      if (holder > 2) continue;
      ++state.done[holder - 1U];
      state.fresh[holder - 1U] = 1;
    }
  }
  for (std::size_t lane = 0; lane < 2; ++lane) state.left_ps[lane] = work[lane].left.ps;
  if (state.waits[0] == 0 && state.waits[1] == 0) state.fresh = {};
  return true;
}

bool PairMoves::only_movable_left(const SearchState& state) const {
  return state.done[0] == jobs_.chains[0].size() && state.done[1] == jobs_.chains[1].size();
}

Duration PairMoves::movable_rest(const SearchState& state) const {
  Duration rest;
  if (state.holder[0] != kNobody) {
    const std::vector<TaskOp>& running = ops(state, state.holder[0]);
    rest += Duration{state.left_ps[0]};
    for (std::size_t op = state.op[0] + 1U; op < running.size(); ++op) rest += running[op].work;
  }
  for (std::size_t k = 0; k < jobs_.kinds.size(); ++k) {
    const std::vector<std::size_t>& tasks = jobs_.kinds[k].tasks;
    rest += problem_.alone(tasks.front()) * (static_cast<std::int64_t>(tasks.size()) - state.moved[k]);
  }
  return rest;
}

std::size_t PairMoves::level(const SearchState& state) const {
  std::size_t level = 2U * (state.done[0] + state.done[1]);
  for (std::size_t k = 0; k < jobs_.kinds.size(); ++k) level += 2U * state.moved[k];
  for (const Holder holder : state.holder)
    if (holder == chain_holder(0) || holder == chain_holder(1)) ++level;
  if (state.holder[0] > 2) --level; // started, not ended
  return level;
}

} // namespace tessella
