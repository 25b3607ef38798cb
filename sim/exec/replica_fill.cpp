// The bubble filler inside a replica: weight gradients leave their place in the plan, ranks estimate their waits, and
// deferred work runs in them. Not called when no filler is on.
//
//   estimate   the time of the exchange a rank waits for, from the forecast; the rank pins the forecast to its own
//   clock
//              where it last saw an exchange end, which all members see at the same time
//   fill       decision (its cost is idle time), task, decision, ...; a task that outlasts the wait makes the rank late
//
// A fill runs on the compute lane beside the exchange, so it never delays the exchange itself, and it is slowed like
// any compute beside it.
#include <algorithm>

#include "sim/engine/clocks.h"
#include "sim/exec/replica.h"

namespace tessella {

bool Replica::fills(const Op& op) const {
  return filler_ && op.fill_point > 0 && (op.after_moe || filler_->options().policy->everywhere);
}

void Replica::plan_ahead(const Group& group, const Template& t, std::size_t index, const Action& a) {
  const Op& op = t.ops[index];
  if (op.cls == OpClass::ep) filler_->exchange_fill(static_cast<std::size_t>(&group - groups_.data()));
  const std::span<const Duration> work(planned_.data(), planned_count_);
  const bool movable = defers(op, a);
  if (t.overlapped)
    forecast_.overlapped(t, index, work, movable);
  else
    forecast_.chain(op, work, movable);
}

bool Replica::defers(const Op& op, const Action& a) const {
  return op.weight > 0 && a.kind == ActionKind::B && filler_->options().policy->defers &&
         filler_->options().defers_wgrad;
}

bool Replica::defer(Group& group, const Op& op, const Action& a, bool differ) {
  if (!differ) std::fill(work_.begin() + 1, work_.end(), work_[0]);
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  PoolTask task{op.weight,
                a.stage.value,
                a.micro_batch.value,
                {},
                op.beside_waiting,
                op.beside_moving,
                op.provenance,
                op.name,
                0,
                filler_->plan().deadline[g],
                true};
  if (!program_.held_bytes.empty()) task.bytes = program_.held_bytes[static_cast<std::size_t>(a.stage.value)];
  for (std::size_t r = 0; r < n_; ++r) {
    task.estimate = planned_count_ == 1 ? planned_[0] : planned_[r];
    work_[r] = filler_->at_its_place(g, r, task, work_[r]).value_or(Duration{});
  }
  return true;
}

std::span<const std::int32_t> Replica::tokens_of(const Op& op, std::size_t rank) const {
  const Loads& load = load_[op.half];
  if (load.key == 0) return {};
  const auto block = static_cast<std::size_t>(program_.ep_block);
  return std::span(load.tokens).subspan(rank / block * block, block);
}

void Replica::trace_task(std::size_t g, std::size_t r, const PoolTask& task, Time begin, Time end) {
  const auto& traced = traced_[g];
  if (std::find(traced.begin(), traced.end(), static_cast<std::int32_t>(r)) == traced.end()) return;
  const std::int32_t per_position = program_.replicas * program_.group_size;
  const auto rank =
      static_cast<std::int32_t>(g) * per_position + index_ * program_.group_size + static_cast<std::int32_t>(r);
  trace_->events.push_back({rank, static_cast<std::int32_t>(step_), 0, task.stage, task.micro_batch, 'W',
                            program_.op_names[static_cast<std::size_t>(task.name)] + " (deferred)", begin, end});
}

void Replica::idle_until(Group& group, std::size_t r, Time until, Share rest) {
  Time& clock = group.clock[r];
  const Overlap::Idle idle = overlap_.idle(r, clock, until);
  group.share(Share::exposed_ep)[r] += idle.moving;
  group.share(Share::imbalance)[r] += idle.waiting;
  group.share(rest)[r] += until - clock - idle.moving - idle.waiting;
  clock = until;
}

// Runs a pool task on the compute lane from the rank's clock on; false when nothing could be done.
bool Replica::run_task(Group& group, std::size_t r, std::size_t index, std::optional<Time> cut) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  const BubbleFiller::Work w = filler_->at(g, r, index);
  Time& clock = group.clock[r];
  Overlap::Run run = overlap_.run(r, clock, w.actual, w.task.beside_waiting, w.task.beside_exchange);
  const bool whole = !cut || run.end <= *cut;
  if (!whole) {
    const Duration done = overlap_.work_until(r, clock, *cut, w.task.beside_waiting, w.task.beside_exchange);
    if (done == Duration{}) return false;
    filler_->progress(g, r, index, done);
    run = {*cut, overlap_.idle(r, clock, *cut).moving};
  }
  group.share(Share::overlapped)[r] += run.moving;
  group.share(Share::compute)[r] += run.end - clock - run.moving;
  sums_.busy_by_provenance[static_cast<std::size_t>(w.task.provenance)] += run.end - clock;
  trace_task(g, r, w.task, clock, run.end);
  clock = run.end;
  if (!whole) return true;
  filler_->take(g, r, index);
  Time& ready = group.gradients_ready[program_.positions[g].chunk_of(w.task.stage) * n_ + r];
  ready = max(ready, clock);
  return true;
}

void Replica::fill_gap(Group& group, std::size_t r, const Gap& gap, std::span<const std::int32_t> tokens) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  Time& clock = group.clock[r];
  const Time begun = clock;
  const bool knows = filler_->options().policy->knowing != nullptr;
  const Duration cost = knows ? Duration{} : filler_->options().decision_cost;
  FillSlot slot;
  slot.beside_exchange = gap.exchange;
  filler_->recall(gap.place, r, slot);
  if (gap.ready > clock) filler_->note_wait(gap.place, r, gap.ready - clock);
  const std::optional<Duration> average = slot.average;
  FillSums& sums = filler_->sums();
  for (bool first = true; first || (!filler_->empty(g, r) && gap.estimate > clock + cost); first = false) {
    idle_until(group, r, clock + cost, gap.rest);
    if (gap.ready <= clock) break; // what it waits for is there
    slot.estimate = max(Duration{}, gap.estimate - clock);
    if (average) slot.average = max(Duration{}, *average - (clock - begun));
    const std::size_t self = r % static_cast<std::size_t>(program_.ep_block);
    const auto task = filler_->pick(g, r, {clock, {}, slot, tokens, self}, gap.ready - clock);
    if (!task) break;
    const Time from = clock;
    std::optional<Time> cut;
    if (knows) cut = gap.ready;
    if (filler_->options().policy->slices) cut = gap.estimate;
    if (!run_task(group, r, *task, cut)) break;
    ++sums.fills;
    sums.filled += min(clock, gap.ready) - from;
    sums.overrun += max(Duration{}, clock - gap.ready);
  }
  fill_early(group, r, gap);
}

// An exchange of a chain: the rank is free while others arrive and while data moves.
bool Replica::fill_at_exchange(Group& group, const Template& t, std::size_t index, const Action& a) {
  const Op& op = t.ops[index];
  const auto width = static_cast<std::size_t>(op.sync_width);
  const bool differ = durations(group, op, a, n_ / width);
  plan_ahead(group, t, index, a);
  overlap_.begin(group.clock, 0);
  const Overlap::Spans spans = overlap_.add();
  std::copy(group.clock.begin(), group.clock.end(), spans.arrive.begin());
  Duration moving;
  for (std::size_t first = 0; first < n_; first += width) {
    const Duration d = work_[differ ? first / width : 0];
    const Time start = latest(spans.arrive.subspan(first, width));
    std::fill_n(spans.start.begin() + static_cast<std::ptrdiff_t>(first), width, start);
    std::fill_n(spans.end.begin() + static_cast<std::ptrdiff_t>(first), width, start + d);
    moving += d * op.sync_width;
  }
  std::copy(spans.end.begin(), spans.end.end(), exchange_end_.begin());
  sums_.busy_by_provenance[static_cast<std::size_t>(op.provenance)] += moving;
  sums_.ep_moving += moving;
  for (std::size_t r = 0; r < n_; ++r) {
    const Time start = max(group.clock[r], pinned_[r] + (forecast_.start(r) - Time{}));
    const Gap gap{start + (forecast_.end(r) - forecast_.start(r)), exchange_end_[r],
                  filler_->point_place(op.fill_point), true, Share::bubble_dependency};
    fill_gap(group, r, gap, tokens_of(op, r));
    if (group.clock[r] < exchange_end_[r]) idle_until(group, r, exchange_end_[r], Share::bubble_dependency);
  }
  return differ;
}

// All members saw the exchange end at the same time.
void Replica::pin_to_exchange(std::span<const Time> ends) {
  for (std::size_t r = 0; r < n_; ++r) pinned_[r] = ends[r] - (forecast_.end(r) - Time{});
}

void Replica::pin_to_exchanges_before(const Template& t, std::size_t index) {
  const Op& op = t.ops[index];
  for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
    if (t.ops[t.deps[d]].lane == OpLane::ep)
      for (std::size_t r = 0; r < n_; ++r)
        pinned_[r] = overlap_.ends(t.deps[d])[r] - (forecast_.end_of(t.deps[d], r) - Time{});
}

// Compute of an overlapped template that waits until `ready`.
void Replica::fill_before(Group& group, const Template& t, std::size_t index, std::span<const Time> ready) {
  const Op& op = t.ops[index];
  const auto width = static_cast<std::size_t>(op.sync_width); // ranks that begin together wait for each other, too
  for (std::size_t first = 0; first < n_; first += width) {
    Time expected;
    for (std::size_t r = first; r < first + width; ++r)
      for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
        if (t.ops[t.deps[d]].lane == OpLane::ep)
          expected = max(expected, pinned_[r] + (forecast_.end_of(t.deps[d], r) - Time{}));
    const Time begin = latest(ready.subspan(first, width));
    for (std::size_t r = first; r < first + width; ++r)
      fill_gap(
          group, r,
          {max(group.clock[r], expected), begin, filler_->point_place(op.fill_point), true, Share::bubble_dependency},
          tokens_of(op, r));
  }
}

void Replica::fill_message_wait(Group& group, std::size_t which, std::span<const Time> arrival, Share idle) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  const Duration wait = filler_->plan().message_wait[g][2 * group.next_slot + which];
  overlap_.begin(group.clock, 0);
  for (std::size_t r = 0; r < n_; ++r)
    if (arrival[r] > group.clock[r] && (!filler_->empty(g, r) || filler_->early().any()))
      fill_gap(group, r, {group.clock[r] + wait, arrival[r], filler_->message_place(g, group.next_slot), false, idle},
               {});
}

// Tasks that nothing may delay any more: all of a stage, or of every stage.
void Replica::run_leftovers(Group& group, std::optional<std::int32_t> stage) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  overlap_.begin(group.clock, 0);
  for (std::size_t r = 0; r < n_; ++r)
    while (const auto task = filler_->oldest(g, r, stage)) {
      run_task(group, r, *task, std::nullopt);
      ++filler_->sums().forced;
    }
}

// After a slot: what the reduction of a chunk now waits for, and at the end everything.
void Replica::run_what_is_due(Group& group, const Slot& slot) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr})
    if (a && a->kind == ActionKind::B && filler_->completes(g, a->stage.value, a->micro_batch.value))
      run_leftovers(group, a->stage.value);
}

} // namespace tessella
