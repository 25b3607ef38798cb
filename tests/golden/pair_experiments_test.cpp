// Expected numbers of the experiments on pairs: expected/*.yaml with a `study`, whose keys this program fills.
//
//   pairs   all candidate pairs (`radius`): pairs, proven, gap_mean/M, gap_max/M, gain/least, gain/most, cpu_s/M
//   pair    one pair (`forward`, `backward`: stages): post_overlap_ms/M, saves/M, proven
//   cuts    every way to cut the model into its stages: bottleneck_ms/serial_balanced, bottleneck_ms/overlap_aware,
//           ratio, and saves/CHUNK of a chunk beside itself
//   dsv3    the measured tasks of DeepSeek-V3's pair: post_overlap_ms/M, and that of the order it ships
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/load.h"
#include "sim/planner/overlap/overlap_study.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/simulate.h"
#include "tests/support/dsv3_pair.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

using Numbers = std::map<std::string, double>;

Numbers pairs_numbers(const Scenario& s, const ChunkLibrary& chunks, const YAML::Node& study) {
  const auto pairs = candidate_pairs(s.model, s.partition, schedule_of(s), study["radius"].as<std::int32_t>());
  const OverlapStudy result = study_overlap(chunks, pairs, {});
  Numbers n;
  n["pairs"] = static_cast<double>(pairs.size());
  n["proven"] = static_cast<double>(result.proven) / static_cast<double>(pairs.size());
  n["gain/least"] = *std::min_element(result.gains.begin(), result.gains.end());
  n["gain/most"] = *std::max_element(result.gains.begin(), result.gains.end());
  n["cpu_s/slowest_exact"] = result.slowest_cpu_seconds;
  for (const MethodGaps& m : result.methods) {
    n[fmt::format("gap_mean/{}", name(m.method))] = m.mean();
    n[fmt::format("gap_max/{}", name(m.method))] = m.quantile(1.0);
    n[fmt::format("cpu_s/{}", name(m.method))] = m.cpu_seconds;
  }
  return n;
}

Numbers one_pair(const PairProblem& problem) {
  Numbers n;
  for (const OverlapMethod method : kOverlapMethods) {
    const PairResult r = schedule_pair(problem, method);
    n[fmt::format("post_overlap_ms/{}", name(method))] = 1e3 * r.post_overlap.seconds();
    n[fmt::format("saves/{}", name(method))] = r.overlap_gain();
    if (method == OverlapMethod::exact) n["proven"] = r.proven ? 1.0 : 0.0;
  }
  return n;
}

Numbers pair_numbers(const Scenario& s, const ChunkLibrary& chunks, const YAML::Node& study) {
  const auto spec = [&](const char* side) {
    return chunk_spec(s.model, s.partition.stages.at(study[side].as<std::size_t>()));
  };
  return one_pair(chunks.problem(spec("forward"), spec("backward"), {ActionKind::F, ActionKind::B}));
}

// The stages of a scenario with other boundaries.
class Cuts {
 public:
  Cuts(const Scenario& s, const ChunkLibrary& chunks)
      : scenario_(s), chunks_(chunks), table_(chunks, OverlapMethod::exact), edges_(overlap_edges(schedule_of(s))) {}

  // Tries all; keeps the best by serial cost and by post-overlap cost of the worst edge, of equals the evenest.
  Numbers best() {
    std::vector<std::int32_t> ends(scenario_.partition.stages.size());
    ends.back() = static_cast<std::int32_t>(scenario_.model.num_layers());
    try_from(0, ends);
    return {{"bottleneck_ms/serial_balanced", 1e3 * bottleneck(serial_best_)},
            {"bottleneck_ms/overlap_aware", 1e3 * bottleneck(overlap_best_)},
            {"ratio", bottleneck(serial_best_) / bottleneck(overlap_best_)}};
  }
  double saves(const ChunkSpec& chunk) {
    const PairCost& cost = table_.at({chunk, chunk});
    return 1.0 - cost.post_overlap.seconds() / cost.serial.seconds();
  }

 private:
  using Ends = std::vector<std::int32_t>;

  void try_from(std::size_t stage, Ends& ends) {
    if (stage + 1 == ends.size()) return judge(ends);
    const auto left = static_cast<std::int32_t>(ends.size() - 1 - stage);
    for (std::int32_t end = (stage == 0 ? 0 : ends[stage - 1]) + 1; end <= ends.back() - left; ++end) {
      ends[stage] = end;
      try_from(stage + 1, ends);
    }
  }
  ChunkSpec chunk(const Ends& ends, std::size_t stage) const {
    StageContent content = scenario_.partition.stages[stage];
    content.first_layer = stage == 0 ? 0 : ends[stage - 1];
    content.num_layers = ends[stage] - content.first_layer;
    return chunk_spec(scenario_.model, content);
  }
  double serial(const Ends& ends, std::size_t stage) const {
    const ChunkSpec spec = chunk(ends, stage);
    return (chunks_.alone(spec, ActionKind::F) + chunks_.alone(spec, ActionKind::B)).seconds();
  }
  double bottleneck(const Ends& ends) {
    double worst = 0.0;
    for (const auto& [f, b] : edges_)
      worst = std::max(
          worst,
          table_.cost(chunk(ends, static_cast<std::size_t>(f)), chunk(ends, static_cast<std::size_t>(b))).seconds());
    return worst;
  }
  void judge(const Ends& ends) {
    double worst = 0.0;
    double unevenness = 0.0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
      worst = std::max(worst, serial(ends, s));
      unevenness += serial(ends, s) * serial(ends, s);
    }
    const std::pair by_serial{worst, unevenness};
    const std::pair by_overlap{bottleneck(ends), unevenness};
    if (serial_best_.empty() || by_serial < serial_score_) serial_best_ = ends, serial_score_ = by_serial;
    if (overlap_best_.empty() || by_overlap < overlap_score_) overlap_best_ = ends, overlap_score_ = by_overlap;
  }

  const Scenario& scenario_;
  const ChunkLibrary& chunks_;
  PairCostTable table_;
  std::set<std::pair<std::int32_t, std::int32_t>> edges_;
  Ends serial_best_, overlap_best_;
  std::pair<double, double> serial_score_, overlap_score_;
};

Numbers cuts_numbers(const Scenario& s, const ChunkLibrary& chunks) {
  Cuts cuts(s, chunks);
  Numbers n = cuts.best();
  for (const ChunkSpec& chunk : {ChunkSpec{{0}, 0, false, false}, ChunkSpec{{0, 0, 0}, 0, false, false},
                                 ChunkSpec{{1}, 0, false, false}, ChunkSpec{{0, 1}, 0, false, false}})
    n["saves/" + to_text(chunk, s.model)] = cuts.saves(chunk);
  return n;
}

Numbers numbers_of(const YAML::Node& study, const fs::path& folder) {
  const auto kind = study["study"].as<std::string>();
  if (kind == "dsv3") {
    Numbers n = one_pair(testing::dsv3_pair());
    n["post_overlap_ms/shipped"] =
        1e3 * cost_of_order(testing::dsv3_pair(), testing::dsv3_shipped_order()).post_overlap.seconds();
    return n;
  }
  LoadOptions options;
  if (study["set"])
    for (const auto& item : study["set"]) options.overrides.push_back(item.as<std::string>());
  const Scenario s = load_scenario(folder / study["experiment"].as<std::string>(), options);
  const ChunkLibrary chunks(s, make_model_ops(s));
  if (kind == "pairs") return pairs_numbers(s, chunks, study);
  if (kind == "pair") return pair_numbers(s, chunks, study);
  REQUIRE(kind == "cuts");
  return cuts_numbers(s, chunks);
}

// The others are of plan_experiments_test.cpp.
bool is_about_pairs(const std::string& kind) {
  return kind == "pairs" || kind == "pair" || kind == "cuts" || kind == "dsv3";
}

void check(const YAML::Node& number, const Numbers& numbers) {
  const auto key = number["key"].as<std::string>();
  REQUIRE_MESSAGE(numbers.count(key) == 1, key);
  testing::check_number(number, numbers.at(key));
}

} // namespace

TEST_CASE("Experiments on pairs give their expected numbers") {
  int studies = 0;
  for (const fs::path& file : testing::expected_files()) {
    const YAML::Node study = YAML::LoadFile(file.string());
    if (!study["study"] || !is_about_pairs(study["study"].as<std::string>())) continue;
    CAPTURE(file.string());
    ++studies;
    const Numbers numbers = numbers_of(study, file.parent_path().parent_path());
    REQUIRE(study["numbers"].size() > 0);
    for (const YAML::Node& number : study["numbers"]) check(number, numbers);
  }
  CHECK(studies >= 5);
}
