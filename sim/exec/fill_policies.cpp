#include "sim/exec/fill_policies.h"

#include <algorithm>
#include <array>

namespace tessella {
namespace {

// Best fit: the longest eligible task within `room` that meets its deadline; of equal ones the oldest, whose deadline
// slack is the smallest of its chunk.
std::optional<std::size_t> best_fit(const RankView& view, Duration room) {
  std::optional<std::size_t> best;
  Duration longest;
  Time earliest;
  for (std::size_t i = 0; i < view.pool.size(); ++i) {
    const PoolTask& task = view.pool[i];
    const Duration span = view.span(task);
    if (!task.eligible || span > room) continue;
    if (best && (span < longest || (span == longest && task.deadline >= earliest))) continue;
    best = i;
    longest = span;
    earliest = task.deadline;
  }
  return best;
}

std::optional<std::size_t> keep(const RankView&) {
  return std::nullopt;
}

std::optional<std::size_t> greedy(const RankView& view) {
  return best_fit(view, view.slot.estimate);
}

// Trusts what it saw: the estimate from token counts only until there is a history.
std::optional<std::size_t> history(const RankView& view) {
  return best_fit(view, view.slot.average.value_or(view.slot.estimate));
}

std::optional<std::size_t> oldest(const RankView& view) {
  for (std::size_t i = 0; i < view.pool.size(); ++i)
    if (view.pool[i].eligible) return i;
  return std::nullopt;
}

// Whole tasks first; where none fits, a slice of the oldest, which keeps memory low. A slice shorter than this is not
// worth a launch: the GEMMs take 100 to 400 us, so that slices are a good part of one and keep its efficiency
// (assumed).
constexpr Duration kLeastSlice{50'000'000};

std::optional<std::size_t> look_ahead(const RankView& view) {
  if (const auto fits = best_fit(view, view.slot.estimate)) return fits;
  return view.slot.estimate < kLeastSlice ? std::nullopt : oldest(view);
}

// With tasks that can be cut, any eligible task fills the whole wait.
std::optional<std::size_t> clairvoyant(const RankView& view, const ActualWait& actual) {
  return actual.gap == Duration{} ? std::nullopt : oldest(view);
}

constexpr std::array kTable = std::to_array<FillPolicy>({
    {.name = "none", .description = "the static plan: weight gradients stay at their place"},
    {.name = "always_keep",
     .description = "decides at every slot, at its cost, but always keeps the plan",
     .pick = keep},
    {.name = "greedy",
     .description = "best fit into the wait estimated from token counts (Tessera, Algorithm 2)",
     .defers = true,
     .pick = greedy},
    {.name = "history",
     .description = "best fit into the rank's own average wait over the last 10 steps",
     .defers = true,
     .keeps_history = true,
     .pick = history},
    {.name = "look_ahead",
     .description = "an EP group defers together; fills every wait, also with slices of a weight gradient",
     .defers = true,
     .together = true,
     .everywhere = true,
     .slices = true,
     .pick = look_ahead},
    {.name = "clairvoyant",
     .description = "UPPER BOUND, not realisable: is told the real waits, decides for free, cuts tasks to fit",
     .defers = true,
     .together = true,
     .everywhere = true,
     .knowing = clairvoyant},
});

} // namespace

std::span<const FillPolicy> fill_policy_table() {
  return kTable;
}

const FillPolicy* find_fill_policy(std::string_view name) {
  const auto it = std::find_if(kTable.begin(), kTable.end(), [&](const FillPolicy& p) { return p.name == name; });
  return it == kTable.end() ? nullptr : &*it;
}

} // namespace tessella
