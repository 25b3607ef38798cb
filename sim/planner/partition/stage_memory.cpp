#include "sim/planner/partition/stage_memory.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/cost/params.h"
#include "sim/domain/workload_shape.h"

namespace tessella {
namespace {

Bytes rounded(double bytes) {
  return {static_cast<std::int64_t>(std::llround(bytes))};
}

double as_double(Bytes b) {
  return static_cast<double>(b.count);
}

// What the report charges beyond state, live activations and context, on the hungriest rank.
double workspace(const MemoryReport& report, const MemoryAssumptions& assume) {
  double most = 0.0;
  for (const RankMemory& rank : report.ranks) {
    const double own =
        as_double(rank.buffers - assume.context) - (assume.fragmentation - 1.0) * as_double(rank.activations);
    most = std::max(most, own);
  }
  return most;
}

using Counts = std::vector<std::int64_t>; // kept and loss of each stage of the rank

bool dominated(const Counts& a, const Counts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](std::int64_t x, std::int64_t y) { return x <= y; });
}

std::vector<Counts> undominated(const std::set<Counts>& all) {
  std::vector<Counts> kept;
  for (const Counts& a : all) {
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const Counts& b) { return a != b && dominated(a, b); });
    if (!beaten) kept.push_back(a);
  }
  return kept;
}

} // namespace

std::vector<LiveVector> live_vectors(const Schedule& schedule, std::size_t rank) {
  std::vector<std::int32_t> held;
  for (std::size_t s = 0; s < schedule.stage_ranks.size(); ++s)
    for (const PpRank r : schedule.stage_ranks[s])
      if (static_cast<std::size_t>(r.value) == rank) held.push_back(static_cast<std::int32_t>(s));
  const auto at = [&](Stage stage) {
    return static_cast<std::size_t>(2 * (std::find(held.begin(), held.end(), stage.value) - held.begin()));
  };
  Counts live(2 * held.size(), 0);
  std::set<Counts> seen;
  const auto begin = [&](const Action& a) {
    if (a.kind != ActionKind::F) return;
    ++live[at(a.stage)];
    ++live[at(a.stage) + 1];
  };
  const auto end = [&](const Action& a) {
    if (a.kind == ActionKind::B || a.kind == ActionKind::I) --live[at(a.stage) + 1];
    if (a.kind == ActionKind::B || a.kind == ActionKind::W) --live[at(a.stage)];
  };
  for (const Slot& slot : schedule.ranks[rank]) {
    begin(slot.first);
    if (slot.second) begin(*slot.second);
    seen.insert(live);
    end(slot.first);
    if (slot.second) end(*slot.second);
  }
  std::vector<LiveVector> vectors;
  for (const Counts& counts : undominated(seen)) {
    LiveVector v;
    for (std::size_t i = 0; i < held.size(); ++i) v.push_back({held[i], counts[2 * i], counts[2 * i + 1]});
    vectors.push_back(v);
  }
  return vectors;
}

StageMemory::StageMemory(const Scenario& scenario, const Schedule& schedule, double hot_load) : scenario_(scenario) {
  assume_.hot_load = hot_load;
  shape_.tokens = scenario.tokens_per_tp_group();
  shape_.tp = scenario.parallelism.tp;
  shape_.etp = scenario.parallelism.etp;
  shape_.sequence_parallel = scenario.parallelism.sequence_parallel;
  shape_.precision = scenario.precision;
  shape_.probs_before_fc2 = assume_.probs_before_fc2;
  shape_.hot_load = std::max(hot_load, padded_load(scenario));
  const MemoryReport report = memory_report(scenario, schedule, assume_);
  budget_ = report.capacity - assume_.context - rounded(workspace(report, assume_));
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) live_.push_back(live_vectors(schedule, r));
}

StageBytes StageMemory::of(const StageContent& content) const {
  const Partition alone{{content}};
  constexpr std::int32_t kOnly[] = {0};
  const RankParams params = held_params(scenario_, alone, kOnly);
  const StageActivation kept = stage_activation(scenario_.model, content, shape_, scenario_.recompute);
  return {model_state(params, scenario_.parallelism, scenario_.optimizer, scenario_.precision).model_state(),
          rounded(assume_.fragmentation * kept.kept), rounded(assume_.fragmentation * kept.loss)};
}

Bytes StageMemory::slack(const Partition& partition) const {
  std::vector<StageBytes> bytes;
  for (const StageContent& content : partition.stages) bytes.push_back(of(content));
  Bytes least = budget_;
  for (const std::vector<LiveVector>& rank : live_)
    for (const LiveVector& v : rank) {
      Bytes free = budget_;
      for (const LiveStage& s : v) {
        const StageBytes& b = bytes[static_cast<std::size_t>(s.stage)];
        free = free - b.state - b.kept * s.kept - b.loss * s.loss;
      }
      least = std::min(least, free);
    }
  return least;
}

} // namespace tessella
