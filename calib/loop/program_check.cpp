// Playing a program, and reading its record: what needs the steps of all ranks side by side.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "calib/loop/program.h"
#include "sim/base/check.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

// Ranks advance as far as they can, round after round.
class Player {
 public:
  Player(const LoopProgram& program, const std::string& name)
      : program_(program), name_(name), at_(program.ranks.size(), 0), sent_(program.channels.size()) {}

  void play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < at_.size(); ++r)
        while (at_[r] < program_.ranks[r].size() && can_pass(r)) {
          ++at_[r];
          moved = true;
        }
      if (meet()) moved = true;
    }
    for (std::size_t r = 0; r < at_.size(); ++r)
      if (at_[r] < program_.ranks[r].size()) stuck(r);
    for (std::size_t c = 0; c < sent_.size(); ++c)
      if (!sent_[c].empty())
        throw InputError(name_, fmt::format("nobody receives {} from rank {}", to_text(sent_[c].front()),
                                            program_.channels[c].from));
  }

 private:
  const ProgramStep& step(std::size_t r) const { return program_.ranks[r][at_[r]]; }

  bool can_pass(std::size_t r) {
    const ProgramStep& s = step(r);
    if (s.kind == StepKind::kernel) return true;
    if (s.kind == StepKind::send) {
      sent_[s.index].push_back(s.action);
      return true;
    }
    if (s.kind != StepKind::receive || sent_[s.index].empty()) return false;
    const Action got = sent_[s.index].front();
    const int step_of_data = s.action.kind == ActionKind::F ? 1 : -1;
    const Action wanted = {Stage(s.action.stage.value - step_of_data), s.action.kind, s.action.micro_batch};
    if (got != wanted)
      throw InputError(name_, fmt::format("rank {} receives {} where it expects {}", r, to_text(got), to_text(wanted)));
    sent_[s.index].pop_front();
    return true;
  }

  // Ranks of a group that all stand at the same exchange or reduction pass it together.
  bool meet() {
    bool moved = false;
    for (std::size_t r = 0; r < at_.size(); ++r) {
      if (at_[r] >= program_.ranks[r].size()) continue;
      const ProgramStep& s = step(r);
      if (s.kind != StepKind::exchange && s.kind != StepKind::reduce) continue;
      const auto n = static_cast<std::size_t>(s.ranks);
      if (r % n != 0) continue; // groups are neighbours: EP is the fastest dimension
      bool all = true;
      for (std::size_t other = r; other < r + n; ++other)
        all = all && at_[other] < program_.ranks[other].size() && same_meeting(step(other), s);
      for (std::size_t other = r; all && other < r + n; ++other) ++at_[other];
      moved = moved || all;
    }
    return moved;
  }
  static bool same_meeting(const ProgramStep& a, const ProgramStep& b) {
    return a.kind == b.kind && std::string(a.op) == b.op && a.ranks == b.ranks && a.bytes == b.bytes &&
           a.action == b.action;
  }

  [[noreturn]] void stuck(std::size_t r) const {
    const ProgramStep& s = step(r);
    throw InputError(name_, fmt::format("rank {} waits for ever in {}{}", r, s.op,
                                        s.in_action ? fmt::format(" of {}", to_text(s.action)) : ""));
  }

  const LoopProgram& program_;
  const std::string& name_;
  std::vector<std::size_t> at_;
  std::vector<std::deque<Action>> sent_; // [channel]
};

// Events of one kind of step in program order; events of a rank are one per step.
double waited_until(const LoopEvent& e, double ready) {
  return std::clamp(ready, e.begin, e.end) - e.begin;
}

} // namespace

void check_progress(const LoopProgram& program, const std::string& name) {
  Player(program, name).play();
}

void settle_waits(const LoopProgram& program, std::vector<std::vector<LoopEvent>>& events) {
  std::vector<std::vector<double>> sends(program.channels.size()); // begin of each message
  std::vector<std::vector<std::size_t>> meetings(program.ranks.size());
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    TSL_CHECK_OP(events[r].size(), ==, program.ranks[r].size());
    for (std::size_t i = 0; i < program.ranks[r].size(); ++i) {
      const ProgramStep& s = program.ranks[r][i];
      if (s.kind == StepKind::send) sends[s.index].push_back(events[r][i].begin);
      if (s.kind == StepKind::exchange || s.kind == StepKind::reduce) meetings[r].push_back(i);
    }
  }
  std::vector<std::size_t> taken(program.channels.size(), 0);
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    std::size_t meeting = 0;
    for (std::size_t i = 0; i < program.ranks[r].size(); ++i) {
      const ProgramStep& s = program.ranks[r][i];
      LoopEvent& e = events[r][i];
      if (s.kind == StepKind::receive) e.waited = waited_until(e, sends[s.index][taken[s.index]++]);
      if (s.kind != StepKind::exchange && s.kind != StepKind::reduce) continue;
      const std::size_t first = r / static_cast<std::size_t>(s.ranks) * static_cast<std::size_t>(s.ranks);
      double last = e.begin;
      for (std::size_t other = first; other < first + static_cast<std::size_t>(s.ranks); ++other)
        last = std::max(last, events[other][meetings[other][meeting]].begin);
      e.waited = waited_until(e, last);
      ++meeting;
    }
  }
}

} // namespace tessella::calib
