#include "sim/schedule/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/deadlock.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

std::optional<ScheduleProblem> problem(ScheduleFault fault, std::string message, std::optional<SlotRef> where = {}) {
  return ScheduleProblem{fault, std::move(message), where, {}};
}

// Visits every slot as visit(where, slot) until one returns a problem.
template <class Visit>
std::optional<ScheduleProblem> first_problem(const Schedule& schedule, Visit visit) {
  for (std::int32_t r = 0; r < schedule.num_ranks; ++r) {
    const auto& slots = schedule.ranks[at(r)];
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (auto p = visit(SlotRef{PpRank{r}, static_cast<std::int32_t>(i)}, slots[i])) return p;
  }
  return std::nullopt;
}

std::optional<ScheduleProblem> check_shape(const Schedule& s) {
  if (s.num_ranks < 1 || s.num_stages < 1 || s.num_micro_batches < 1)
    return problem(ScheduleFault::shape, fmt::format("{} ranks, {} stages, {} micro-batches: each must be at least 1",
                                                     s.num_ranks, s.num_stages, s.num_micro_batches));
  if (s.ranks.size() != at(s.num_ranks) || s.stage_ranks.size() != at(s.num_stages))
    return problem(ScheduleFault::shape,
                   fmt::format("{} ranks and {} stages announced, {} lists and {} placements given", s.num_ranks,
                               s.num_stages, s.ranks.size(), s.stage_ranks.size()));
  if (s.num_shadow_micro_batches < 0 || s.num_shadow_micro_batches >= s.num_micro_batches)
    return problem(ScheduleFault::shape,
                   fmt::format("{} of {} micro-batches are shadows", s.num_shadow_micro_batches, s.num_micro_batches));
  return std::nullopt;
}

std::optional<ScheduleProblem> check_lists(const Schedule& s) {
  for (std::int32_t stage = 0; stage < s.num_stages; ++stage)
    if (s.stage_ranks[at(stage)].empty())
      return problem(ScheduleFault::shape, fmt::format("no rank runs stage {}", stage));
  std::size_t actions = 0; // or a few more
  for (std::int32_t r = 0; r < s.num_ranks; ++r) {
    actions += 2 * s.ranks[at(r)].size();
    if (s.ranks[at(r)].empty())
      return problem(ScheduleFault::shape, fmt::format("rank {} has nothing to do", r), SlotRef{PpRank{r}, 0});
  }
  // Each (stage, micro-batch) takes at least two; with far fewer the tables of the later checks would dwarf the lists.
  if (actions < at(s.num_stages) * at(s.num_micro_batches))
    return problem(ScheduleFault::missing, fmt::format("the lists are too short for {} stages and {} micro-batches",
                                                       s.num_stages, s.num_micro_batches));
  return std::nullopt;
}

std::optional<ScheduleProblem> check_action(const Schedule& s, SlotRef where, const Action& a) {
  if (a.stage.value < 0 || a.stage.value >= s.num_stages || a.micro_batch.value < 0 ||
      a.micro_batch.value >= s.num_micro_batches)
    return problem(
        ScheduleFault::shape,
        fmt::format("{} is outside {} stages and {} micro-batches", to_text(a), s.num_stages, s.num_micro_batches),
        where);
  const auto& holders = s.stage_ranks[at(a.stage.value)];
  if (std::find(holders.begin(), holders.end(), where.rank) == holders.end())
    return problem(
        ScheduleFault::placement,
        fmt::format("{} stands on rank {}, which does not hold stage {}", to_text(a), where.rank.value, a.stage.value),
        where);
  return std::nullopt;
}

std::optional<ScheduleProblem> check_slot(const Schedule& s, SlotRef where, const Slot& slot) {
  if (auto p = check_action(s, where, slot.first)) return p;
  if (!slot.second) return std::nullopt;
  if (auto p = check_action(s, where, *slot.second)) return p;
  if (pass_of(slot.first.kind) != Pass::forward || pass_of(slot.second->kind) != Pass::backward)
    return problem(ScheduleFault::bad_pair,
                   fmt::format("pair {}: a pair is a forward F and a backward B or I", to_text(slot)), where);
  if (slot.first.micro_batch == slot.second->micro_batch)
    return problem(ScheduleFault::bad_pair,
                   fmt::format("pair {} of the same micro-batch {}: its backward needs its forward, so they cannot "
                               "overlap",
                               to_text(slot), slot.first.micro_batch.value),
                   where);
  return std::nullopt;
}

std::optional<ScheduleProblem> check_duplicates(const Schedule& s) {
  const std::size_t pairs = at(s.num_stages) * at(s.num_micro_batches);
  std::vector<std::uint8_t> seen(pairs); // bits F, backward, W
  return first_problem(s, [&](SlotRef where, const Slot& slot) {
    std::optional<ScheduleProblem> found;
    for_each_action(slot, [&](const Action& a) {
      auto& bits = seen[at(a.stage.value) * at(s.num_micro_batches) + at(a.micro_batch.value)];
      const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(pass_of(a.kind)));
      if ((bits & bit) != 0 && !found)
        found = problem(ScheduleFault::duplicate,
                        fmt::format("{} is the second {} of stage {} and micro-batch {}", to_text(a),
                                    a.kind == ActionKind::F   ? "forward"
                                    : a.kind == ActionKind::W ? "weight gradient"
                                                              : "backward",
                                    a.stage.value, a.micro_batch.value),
                        where);
      bits = static_cast<std::uint8_t>(bits | bit);
    });
    return found;
  });
}

ActionKind kind_at(const Schedule& s, SlotRef ref, std::int32_t stage, std::int32_t micro_batch) {
  const Slot& slot = s.ranks[at(ref.rank.value)][at(ref.slot)];
  const bool is_first = slot.first.stage.value == stage && slot.first.micro_batch.value == micro_batch;
  return is_first || !slot.second ? slot.first.kind : slot.second->kind;
}

SlotRef end_of_row(const Schedule& s, PpRank rank) {
  return {rank, static_cast<std::int32_t>(s.ranks[at(rank.value)].size())};
}

// One forward, one backward on the same rank, and a weight gradient exactly when the backward is an I.
std::optional<ScheduleProblem> check_complete(const Schedule& s, const SlotIndex& index, std::int32_t stage,
                                              std::int32_t j) {
  const auto missing = [&](ActionKind kind, PpRank rank) {
    return problem(
        ScheduleFault::missing,
        fmt::format("{} is missing on rank {}", to_text(Action{Stage{stage}, kind, MicroBatch{j}}), rank.value),
        end_of_row(s, rank));
  };
  const auto f = index.find(Pass::forward, stage, j);
  if (!f) return missing(ActionKind::F, s.stage_ranks[at(stage)].front());
  const auto b = index.find(Pass::backward, stage, j);
  const auto w = index.find(Pass::weight, stage, j);
  if (!b) return missing(w ? ActionKind::I : ActionKind::B, f->rank);
  const bool split = kind_at(s, *b, stage, j) == ActionKind::I;
  if (split && !w) return missing(ActionKind::W, f->rank);
  if (!split && w)
    return problem(ScheduleFault::duplicate,
                   fmt::format("{}W{}: its backward is a full B, which already holds the weight gradient", stage, j),
                   w);
  for (const auto& other : {b, w})
    if (other && other->rank != f->rank)
      return problem(ScheduleFault::placement,
                     fmt::format("stage {} micro-batch {} runs forward on rank {} and backward on rank {}", stage, j,
                                 f->rank.value, other->rank.value),
                     other);
  return std::nullopt;
}

std::optional<ScheduleProblem> check_own_order(const Schedule& s, const SlotIndex& index) {
  return first_problem(s, [&](SlotRef where, const Slot& slot) {
    std::optional<ScheduleProblem> found;
    for_each_action(slot, [&](const Action& a) {
      for_each_need(a, s.num_stages, [&](Pass pass, std::int32_t stage, std::int32_t j) {
        const SlotRef need = *index.find(pass, stage, j);
        if (found || need.rank != where.rank || need.slot < where.slot) return;
        found = problem(ScheduleFault::order,
                        fmt::format("{} stands before {}, which it needs, on rank {}", to_text(a),
                                    to_text(s.ranks[at(need.rank.value)][at(need.slot)]), where.rank.value),
                        where);
      });
    });
    return found;
  });
}

} // namespace

ReceiveBuffers megatron_receive_buffers(std::int32_t pp, std::int32_t group_size) {
  ReceiveBuffers buffers{std::vector<std::int32_t>(at(pp), 1), std::vector<std::int32_t>(at(pp), 1)};
  buffers.forward.front() = std::max(1, group_size - pp + 1);
  buffers.backward.back() = std::max(1, group_size - pp + 1);
  return buffers;
}

std::optional<ScheduleProblem> validate(const Schedule& schedule, const std::optional<ReceiveBuffers>& buffers) {
  if (auto p = check_shape(schedule)) return p;
  if (auto p = check_lists(schedule)) return p;
  const auto slot_is_sound = [&](SlotRef where, const Slot& slot) { return check_slot(schedule, where, slot); };
  if (auto p = first_problem(schedule, slot_is_sound)) return p;
  if (auto p = check_duplicates(schedule)) return p;
  const SlotIndex index(schedule);
  for (std::int32_t s = 0; s < schedule.num_stages; ++s)
    for (std::int32_t j = 0; j < schedule.num_micro_batches; ++j)
      if (auto p = check_complete(schedule, index, s, j)) return p;
  if (auto p = check_own_order(schedule, index)) return p;
  return find_deadlock(schedule, index, buffers);
}

} // namespace tessella
