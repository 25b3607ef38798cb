#include "sim/exec/forecast.h"

#include <algorithm>

namespace tessella {
namespace {

Duration pick(std::span<const Duration> work, std::size_t i) {
  return work.size() == 1 ? work[0] : work[i];
}

} // namespace

void Forecast::begin(std::size_t ops) {
  std::fill(clock_.begin(), clock_.end(), Time{});
  std::fill(start_.begin(), start_.end(), Time{});
  std::fill(end_.begin(), end_.end(), Time{});
  overlap_.begin(clock_, ops);
}

void Forecast::chain(const Op& op, std::span<const Duration> work, bool movable) {
  if (movable) return;
  const auto width = static_cast<std::size_t>(op.sync_width);
  if (op.cls == OpClass::compute && width == 1) {
    for (std::size_t r = 0; r < n_; ++r) clock_[r] = clock_[r] + pick(work, r);
    return;
  }
  for (std::size_t first = 0; first < n_; first += width) {
    Time start = clock_[first];
    for (std::size_t r = first + 1; r < first + width; ++r) start = max(start, clock_[r]);
    const Time end = start + pick(work, first / width);
    for (std::size_t r = first; r < first + width; ++r) {
      start_[r] = start;
      end_[r] = end;
      clock_[r] = end;
    }
  }
}

void Forecast::overlapped(const Template& t, std::size_t index, std::span<const Duration> work, bool movable) {
  if (t.ops[index].lane == OpLane::ep)
    exchange(t, index, work);
  else
    compute(t, index, work, movable);
}

void Forecast::exchange(const Template& t, std::size_t index, std::span<const Duration> work) {
  const Op& op = t.ops[index];
  const auto width = static_cast<std::size_t>(op.sync_width);
  const Overlap::Spans spans = overlap_.add();
  const std::span<Time> lane = overlap_.ep_clock();
  const std::span<Time> ends = overlap_.ends(index);
  std::copy(lane.begin(), lane.end(), spans.arrive.begin());
  for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
    for (std::size_t r = 0; r < n_; ++r) spans.arrive[r] = max(spans.arrive[r], overlap_.ends(t.deps[d])[r]);
  for (std::size_t first = 0; first < n_; first += width) {
    Time start = spans.arrive[first];
    for (std::size_t r = first + 1; r < first + width; ++r) start = max(start, spans.arrive[r]);
    const Time end = start + op.beside_compute.span_for(pick(work, first / width));
    for (std::size_t r = first; r < first + width; ++r) {
      spans.start[r] = start;
      spans.end[r] = lane[r] = ends[r] = end;
    }
  }
}

void Forecast::compute(const Template& t, std::size_t index, std::span<const Duration> work, bool movable) {
  const Op& op = t.ops[index];
  const auto width = static_cast<std::size_t>(op.sync_width);
  const std::span<Time> ends = overlap_.ends(index);
  std::copy(clock_.begin(), clock_.end(), ends.begin());
  for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
    for (std::size_t r = 0; r < n_; ++r) ends[r] = max(ends[r], overlap_.ends(t.deps[d])[r]);
  for (std::size_t first = 0; first < n_; first += width) {
    Time begin = ends[first];
    for (std::size_t r = first + 1; r < first + width; ++r) begin = max(begin, ends[r]);
    Time end = begin;
    for (std::size_t r = first; r < first + width; ++r) {
      overlap_.pass(r, begin);
      if (!movable)
        end = max(end, overlap_.run(r, begin, pick(work, first / width), op.beside_waiting, op.beside_moving).end);
    }
    for (std::size_t r = first; r < first + width; ++r) clock_[r] = ends[r] = end;
  }
}

} // namespace tessella
