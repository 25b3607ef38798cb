#include "sim/exec/bubble_filler.h"

#include <algorithm>

#include "sim/base/check.h"

namespace tessella {

BubbleFiller::BubbleFiller(const Program& program, const FillerOptions& options, const FillPlan& plan)
    : program_(program), options_(options), plan_(plan), early_(program),
      ranks_(static_cast<std::size_t>(program.group_size)), ep_block_(static_cast<std::size_t>(program.ep_block)),
      pools_(program.positions.size() * ranks_), fullest_(pools_.size()), peak_bytes_(program.positions.size()) {
  auto places = static_cast<std::size_t>(program.num_fill_points);
  for (const auto& slots : program.schedule.ranks) {
    first_message_.push_back(places);
    places += slots.size();
  }
  if (options.policy->keeps_history) waits_.resize(places * ranks_);
  find_last_micro_batches();
}

void BubbleFiller::find_last_micro_batches() {
  for (std::size_t g = 0; g < program_.positions.size(); ++g) {
    const Position& position = program_.positions[g];
    last_micro_batch_.emplace_back(position.chunks.size());
    for (const Slot& slot : program_.schedule.ranks[g])
      for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr})
        if (a && a->kind == ActionKind::B && !program_.schedule.is_shadow(a->micro_batch))
          last_micro_batch_[g][position.chunk_of(a->stage.value)] = a->micro_batch;
  }
}

bool BubbleFiller::completes(std::size_t group, std::int32_t stage, std::int32_t micro_batch) const {
  return last_micro_batch_[group][program_.positions[group].chunk_of(stage)] == MicroBatch{micro_batch};
}

void BubbleFiller::begin_step() {
  constexpr float kNewest = 2.0F / 11.0F;
  for (const Pool& p : pools_) TSL_CHECK(p.tasks.empty());
  sums_ = {};
  early_.begin_step();
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  std::fill(fullest_.begin(), fullest_.end(), 0);
  for (Waits& w : waits_) {
    if (w.count == 0) continue;
    w.mean += (w.known ? kNewest : 1.0F) * (w.sum / static_cast<float>(w.count) - w.mean);
    w.known = true;
    w.sum = 0.0F;
    w.count = 0;
  }
}

std::optional<Duration> BubbleFiller::at_its_place(std::size_t group, std::size_t rank, const PoolTask& task,
                                                   Duration actual) {
  Pool& p = pool(group, rank);
  if (!options_.policy->defers) return actual;
  if (!in_time(group, rank, task)) return take_all_of_weight(group, rank, task.weight) + actual;
  if (has_room(group, rank, task)) {
    push(group, rank, task, actual);
    ++fullest_[group * ranks_ + rank];
    ++sums_.deferred;
    return std::nullopt;
  }
  const auto older =
      std::find_if(p.tasks.begin(), p.tasks.end(), [&](const PoolTask& t) { return t.weight == task.weight; });
  if (older == p.tasks.end()) return actual;
  const auto at = static_cast<std::size_t>(older - p.tasks.begin());
  const Duration instead = p.actual[at];
  take(group, rank, at);
  push(group, rank, task, actual);
  return instead;
}

// The last gradients of a chunk wait for what the pool holds of it; its reduction can spare the rank's slack.
bool BubbleFiller::in_time(std::size_t group, std::size_t rank, const PoolTask& task) const {
  if (!completes(group, task.stage, task.micro_batch)) return true;
  Duration left = task.estimate;
  for (const PoolTask& t : pool(group, rank).tasks)
    if (t.stage == task.stage) left += t.estimate;
  return left <= plan_.slack[group][program_.positions[group].chunk_of(task.stage)];
}

Duration BubbleFiller::take_all_of_weight(std::size_t group, std::size_t rank, std::int32_t weight) {
  Pool& p = pool(group, rank);
  Duration work;
  for (std::size_t i = 0; i < p.tasks.size();) {
    if (p.tasks[i].weight != weight) {
      ++i;
      continue;
    }
    work += p.actual[i];
    take(group, rank, i);
    ++sums_.forced;
  }
  return work;
}

std::optional<std::size_t> BubbleFiller::oldest(std::size_t group, std::size_t rank,
                                                std::optional<std::int32_t> stage) const {
  const std::vector<PoolTask>& tasks = pool(group, rank).tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!stage || tasks[i].stage == *stage) return i;
  return std::nullopt;
}

bool BubbleFiller::has_room(std::size_t group, std::size_t rank, const PoolTask& task) const {
  const Pool& p = pool(group, rank);
  const auto held = static_cast<std::int64_t>(p.tasks.size());
  const std::int64_t most = options_.policy->together ? std::max(held, fullest_[group * ranks_ + rank]) : held;
  const std::int64_t room = options_.headroom_bytes.empty() ? INT64_MAX : options_.headroom_bytes[group];
  return most < options_.pool && held_bytes(group, rank) + task.bytes <= room;
}

void BubbleFiller::exchange_fill(std::size_t group) {
  if (!options_.policy->together) return;
  for (std::size_t first = 0; first < ranks_; first += ep_block_) {
    std::size_t most = 0;
    for (std::size_t r = first; r < first + ep_block_; ++r) most = std::max(most, pool(group, r).tasks.size());
    std::fill_n(fullest_.begin() + static_cast<std::ptrdiff_t>(group * ranks_ + first), ep_block_,
                static_cast<std::int64_t>(most));
  }
}

void BubbleFiller::push(std::size_t group, std::size_t rank, const PoolTask& task, Duration actual) {
  Pool& p = pool(group, rank);
  p.tasks.push_back(task);
  p.tasks.back().eligible =
      std::none_of(p.tasks.begin(), p.tasks.end() - 1, [&](const PoolTask& t) { return t.weight == task.weight; });
  p.actual.push_back(actual);
  p.bytes += task.bytes;
  sums_.pool_peak = std::max(sums_.pool_peak, static_cast<std::int64_t>(p.tasks.size()));
  note_bytes(group, rank);
}

void BubbleFiller::note_bytes(std::size_t group, std::size_t rank) {
  sums_.pool_peak_bytes = std::max(sums_.pool_peak_bytes, held_bytes(group, rank));
  peak_bytes_[group] = std::max(peak_bytes_[group], held_bytes(group, rank));
}

std::int64_t BubbleFiller::free_bytes(std::size_t group, std::size_t rank) const {
  if (options_.headroom_bytes.empty()) return INT64_MAX;
  std::int64_t largest = 0;
  if (!program_.held_bytes.empty() && options_.defers_wgrad)
    for (const std::int32_t stage : program_.positions[group].stages)
      largest = std::max(largest, program_.held_bytes[static_cast<std::size_t>(stage)]);
  const auto free_tasks = options_.pool - static_cast<std::int64_t>(pool(group, rank).tasks.size());
  return options_.headroom_bytes[group] - held_bytes(group, rank) - free_tasks * largest;
}

void BubbleFiller::take(std::size_t group, std::size_t rank, std::size_t task) {
  Pool& p = pool(group, rank);
  TSL_CHECK(p.tasks[task].eligible); // gradients of one weight accumulate in order
  const std::int32_t weight = p.tasks[task].weight;
  p.bytes -= p.tasks[task].bytes;
  p.tasks.erase(p.tasks.begin() + static_cast<std::ptrdiff_t>(task));
  p.actual.erase(p.actual.begin() + static_cast<std::ptrdiff_t>(task));
  const auto next = std::find_if(p.tasks.begin(), p.tasks.end(), [&](const PoolTask& t) { return t.weight == weight; });
  if (next != p.tasks.end()) next->eligible = true;
}

void BubbleFiller::progress(std::size_t group, std::size_t rank, std::size_t task, Duration done) {
  Pool& p = pool(group, rank);
  p.actual[task] -= done;
  p.tasks[task].estimate = max(Duration{0}, p.tasks[task].estimate - done);
}

std::optional<std::size_t> BubbleFiller::pick(std::size_t group, std::size_t rank, RankView view,
                                              Duration actual_gap) const {
  view.pool = pool(group, rank).tasks;
  if (view.pool.empty()) return std::nullopt;
  return options_.policy->knowing ? options_.policy->knowing(view, {actual_gap}) : options_.policy->pick(view);
}

BubbleFiller::Work BubbleFiller::at(std::size_t group, std::size_t rank, std::size_t task) const {
  const Pool& p = pool(group, rank);
  return {p.tasks[task], p.actual[task]};
}

void BubbleFiller::note_wait(std::size_t place, std::size_t rank, Duration wait) {
  if (waits_.empty()) return;
  Waits& w = waits_[place * ranks_ + rank];
  w.sum += static_cast<float>(wait.ps);
  ++w.count;
}

void BubbleFiller::recall(std::size_t place, std::size_t rank, FillSlot& slot) const {
  if (waits_.empty()) return;
  const Waits& here = waits_[place * ranks_ + rank];
  if (here.known) slot.average = Duration{static_cast<std::int64_t>(here.mean)};
}

} // namespace tessella
