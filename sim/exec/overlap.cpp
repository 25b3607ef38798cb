#include "sim/exec/overlap.h"

#include <algorithm>

namespace tessella {

void Overlap::begin(std::span<const Time> now, std::size_t ops) {
  count_ = 0;
  if (ends_.size() < ops * n_) ends_.resize(ops * n_);
  std::copy(now.begin(), now.end(), ep_clock_.begin());
  std::fill(first_.begin(), first_.end(), 0U);
}

Overlap::Spans Overlap::add() {
  const std::size_t at = 3 * count_ * n_;
  if (spans_.size() < at + 3 * n_) spans_.resize(at + 3 * n_);
  ++count_;
  const std::span<Time> all = std::span(spans_).subspan(at, 3 * n_);
  return {all.subspan(0, n_), all.subspan(n_, n_), all.subspan(2 * n_, n_)};
}

Overlap::Idle Overlap::idle(std::size_t rank, Time from, Time to) const {
  Idle idle;
  const auto clipped = [&](Time a, Time b) { return max(Duration{0}, min(b, to) - max(a, from)); };
  for (std::size_t k = first_[rank]; k < count_ && arrive(k, rank) < to; ++k) {
    idle.waiting += clipped(arrive(k, rank), start(k, rank));
    idle.moving += clipped(start(k, rank), end(k, rank));
  }
  return idle;
}

Overlap::Run Overlap::run(std::size_t rank, Time begin, Duration work, Pace beside_waiting, Pace beside_moving) const {
  Run run{begin, {}};
  // Works at `pace` until `until`; true when the work is done.
  const auto proceed = [&](Time until, Pace pace) {
    if (until <= run.end) return false;
    const Duration needed = pace.span_for(work);
    if (run.end + needed <= until) {
      run.end = run.end + needed;
      work = {};
      return true;
    }
    work -= pace.work_in(until - run.end);
    run.end = until;
    return false;
  };
  if (work == Duration{}) return run;
  for (std::size_t k = first_[rank]; k < count_; ++k) {
    if (proceed(arrive(k, rank), Pace{})) return run;
    if (proceed(start(k, rank), beside_waiting)) return run;
    const Time from = run.end;
    const bool done = proceed(end(k, rank), beside_moving);
    run.moving += run.end - from;
    if (done) return run;
  }
  run.end = run.end + work;
  return run;
}

Duration Overlap::work_until(std::size_t rank, Time begin, Time until, Pace beside_waiting, Pace beside_moving) const {
  Duration work;
  Time at = begin;
  const auto proceed = [&](Time to, Pace pace) {
    to = min(to, until);
    if (to <= at) return;
    work += pace.work_in(to - at);
    at = to;
  };
  for (std::size_t k = first_[rank]; k < count_; ++k) {
    proceed(arrive(k, rank), Pace{});
    proceed(start(k, rank), beside_waiting);
    proceed(end(k, rank), beside_moving);
  }
  proceed(until, Pace{});
  return work;
}

void Overlap::pass(std::size_t rank, Time now) {
  while (first_[rank] < count_ && end(first_[rank], rank) <= now) ++first_[rank];
}

} // namespace tessella
