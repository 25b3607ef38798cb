// Templates with two lanes: compute and expert all-to-alls side by side. Ops come in an issue order in which every
// all-to-all stands right after the last op it depends on (lower.h); so when a compute op is evaluated, all all-to-alls
// that can run beside it are already known, on every rank.
#include <algorithm>

#include "sim/exec/replica.h"

namespace tessella {

void Replica::overlapped_collective(Group& group, const Op& op, const Action& a, std::size_t index, const Template& t) {
  const auto width = static_cast<std::size_t>(op.sync_width);
  const bool differ = durations(group, op, a, n_ / width);
  if (filler_) plan_ahead(group, t, index, a);
  const Overlap::Spans spans = overlap_.add();
  const std::span<Time> lane = overlap_.ep_clock();
  std::copy(lane.begin(), lane.end(), spans.arrive.begin());
  for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d) {
    const std::span<const Time> ready = overlap_.ends(t.deps[d]);
    for (std::size_t r = 0; r < n_; ++r) spans.arrive[r] = max(spans.arrive[r], ready[r]);
  }
  const std::span<Time> ends = overlap_.ends(index);
  Duration moving;
  for (std::size_t first = 0; first < n_; first += width) {
    const Duration d = op.beside_compute.span_for(work_[differ ? first / width : 0]);
    const auto last = std::max_element(spans.arrive.begin() + static_cast<std::ptrdiff_t>(first),
                                       spans.arrive.begin() + static_cast<std::ptrdiff_t>(first + width));
    for (std::size_t r = first; r < first + width; ++r) {
      spans.start[r] = *last;
      begun_[r] = *last;
      spans.end[r] = *last + d;
      lane[r] = spans.end[r];
      ends[r] = spans.end[r];
    }
    moving += d * op.sync_width;
  }
  sums_.busy_by_provenance[static_cast<std::size_t>(op.provenance)] += moving;
  sums_.ep_moving += moving;
}

void Replica::overlapped_compute(Group& group, const Op& op, const Action& a, std::size_t index, const Template& t) {
  const auto width = static_cast<std::size_t>(op.sync_width);
  bool differ = durations(group, op, a, n_ / width);
  if (filler_) plan_ahead(group, t, index, a);
  if (filler_ && defers(op, a)) differ = defer(group, op, a, differ);
  const std::span<Time> ends = overlap_.ends(index);
  // `ends` first holds when each rank could begin.
  std::copy(group.clock.begin(), group.clock.end(), ends.begin());
  for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d) {
    const std::span<const Time> ready = overlap_.ends(t.deps[d]);
    for (std::size_t r = 0; r < n_; ++r) ends[r] = max(ends[r], ready[r]);
  }
  if (fills(op)) {
    // Not yet run themselves: an overrun moves their begin.
    fill_before(group, t, index, ends);
    for (std::size_t r = 0; r < n_; ++r) ends[r] = max(ends[r], group.clock[r]);
  }
  Duration busy;
  for (std::size_t first = 0; first < n_; first += width) {
    const Duration work = work_[differ ? first / width : 0];
    Time begin = ends[first];
    for (std::size_t r = first + 1; r < first + width; ++r) begin = max(begin, ends[r]);
    Time end = begin;
    for (std::size_t r = first; r < first + width; ++r) {
      const Overlap::Idle idle = overlap_.idle(r, group.clock[r], ends[r]);
      group.share(Share::exposed_ep)[r] += idle.moving;
      group.share(Share::imbalance)[r] += idle.waiting + (begin - ends[r]);
      group.share(Share::bubble_dependency)[r] += ends[r] - group.clock[r] - idle.moving - idle.waiting;
      overlap_.pass(r, begin);
      begun_[r] = begin;
      const Overlap::Run run = overlap_.run(r, begin, work, op.beside_waiting, op.beside_moving);
      end = max(end, run.end);
      if (op.cls == OpClass::compute) {
        group.share(Share::overlapped)[r] += run.moving;
        group.share(Share::compute)[r] += run.end - begin - run.moving;
      }
    }
    for (std::size_t r = first; r < first + width; ++r) {
      if (op.cls == OpClass::tp) group.share(Share::exposed_tp)[r] += end - begin;
      if (op.cls == OpClass::cp) group.share(Share::exposed_cp)[r] += end - begin;
      group.clock[r] = end;
      ends[r] = end;
      busy += end - begin;
    }
  }
  sums_.busy_by_provenance[static_cast<std::size_t>(op.provenance)] += busy;
  if (filler_) pin_to_exchanges_before(t, index);
}

void Replica::run_overlapped(std::int32_t g, const Template& t, const Slot& slot) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  const auto& traced = traced_[static_cast<std::size_t>(g)];
  jitter_op_ = 0;
  overlap_.begin(group.clock, t.ops.size());
  if (filler_) {
    forecast_.begin(t.ops.size());
    std::copy(group.clock.begin(), group.clock.end(), pinned_.begin());
  }
  for (std::size_t i = 0; i < t.ops.size(); ++i) {
    const Op& op = t.ops[i];
    const Action& a = op.half == 0 ? slot.first : *slot.second;
    if (op.lane == OpLane::ep)
      overlapped_collective(group, op, a, i, t);
    else
      overlapped_compute(group, op, a, i, t);
    for (const std::int32_t r : traced) {
      const auto rank = static_cast<std::size_t>(r);
      trace_op(g, op, a, rank, begun_[rank], overlap_.ends(i)[rank]);
    }
  }
  // Both lanes meet before the next slot.
  for (std::size_t r = 0; r < n_; ++r) {
    const Time end = max(group.clock[r], overlap_.ep_clock()[r]);
    const Overlap::Idle idle = overlap_.idle(r, group.clock[r], end);
    group.share(Share::exposed_ep)[r] += idle.moving;
    group.share(Share::imbalance)[r] += idle.waiting;
    group.share(Share::bubble_dependency)[r] += end - group.clock[r] - idle.moving - idle.waiting;
    group.clock[r] = end;
  }
  sums_.rank_ops += static_cast<std::int64_t>(t.ops.size() * n_);
}

} // namespace tessella
