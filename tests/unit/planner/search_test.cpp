// The configuration search: what it prunes it may prune, and what it says of what it found or did not find.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "sim/base/error.h"
#include "sim/config/load.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/search/search.h"
#include "sim/report/search_text.h"

using namespace tessella;

namespace {

Scenario scenario(std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.overrides = {"batch.gbs=128", "parallelism.world_size=64", "parallelism.ep=8"};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

SearchOptions small(std::size_t top) {
  SearchOptions options;
  options.top = top;
  options.max_vpp = 1;
  options.max_micro_batch_size = 1;
  return options;
}

std::string why_none(const Scenario& s) {
  try {
    search_configurations(s, small(3));
  } catch (const InfeasiblePlan& e) {
    return e.what();
  }
  return "";
}

} // namespace

TEST_CASE("Pruning loses neither the fastest plans nor the fastest of any place") {
  const Scenario s = scenario();
  const SearchResult pruned = search_configurations(s, small(3));
  const SearchResult all = search_configurations(s, small(100000)); // nothing is ruled out
  REQUIRE(all.counts.bounded == 0);
  CHECK(pruned.counts.not_reached == 0);
  CHECK(pruned.counts.bounded > 0);
  REQUIRE(pruned.ranked.size() >= 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(pruned.ranked[i].step_time == all.ranked[i].step_time);
  std::map<std::string, Duration> best;
  for (const RankedPlan& p : all.ranked) best.try_emplace(p.expert_group.name(), p.step_time); // fastest first
  REQUIRE(best.size() >= 2);
  REQUIRE(pruned.of_places.size() == best.size());
  for (const RankedPlan& p : pruned.of_places) {
    CAPTURE(p.expert_group.name());
    CHECK(p.step_time == best.at(p.expert_group.name()));
  }
}

TEST_CASE("A search that is ended early says how many it did not reach") {
  std::atomic<bool> stop{false};
  SearchOptions options = small(100000);                               // nothing is ruled out
  options.progress = [&](std::int64_t, std::int64_t) { stop = true; }; // after the first batch
  options.stop = &stop;
  const SearchResult found = search_configurations(scenario(), options);
  CHECK(found.counts.simulated > 0);
  CHECK(found.counts.not_reached > 0);
  CHECK(found.counts.fit == found.counts.simulated + found.counts.bounded + found.counts.not_reached);
  CHECK(search_text(found).find("interrupted: ") != std::string::npos);
}

TEST_CASE("An expert group is where its block of ranks is") {
  const SearchResult all = search_configurations(scenario(), small(100000));
  for (const RankedPlan& p : all.ranked) {
    const std::int64_t gpus = p.parallelism.ep * p.parallelism.etp; // EP ranks are ETP apart
    CAPTURE(gpus);
    CHECK(p.expert_group.nodes == std::max<std::int64_t>(1, gpus / 8));
    CHECK(p.expert_group.leaf_groups == 1); // 8 nodes under one leaf group
  }
}

TEST_CASE("A search says what limits the fastest plan and how sure the order is") {
  SearchOptions options = small(5);
  options.explain = true;
  const SearchResult found = search_configurations(scenario(), options);
  CHECK(found.limits.size() >= 4);
  CHECK(found.error > found.tie); // the profile was held against measured runs
  REQUIRE(!found.what_ifs.empty());
  CHECK(found.what_ifs.front().step_time <= found.ranked.front().step_time); // faster NICs never slow it
  const std::string text = search_text(found);
  CHECK(text.find("what limits the fastest") != std::string::npos);
  CHECK(text.find("fastest with expert groups inside") != std::string::npos);
  CHECK(text.find("too large: ") != std::string::npos);
}

TEST_CASE("Nothing fits: how many exceed the memory with what, and by how much the leanest") {
  Scenario s = scenario();
  s.profile.gpu.memory = {4'000'000'000};
  const std::string why = why_none(s);
  CAPTURE(why);
  CHECK(why.find("legal configurations of 64 GPUs fits into 4.0 GB") != std::string::npos);
  CHECK(why.find("with weights, gradients and optimizer alone, 0 with activations") != std::string::npos);
  CHECK(why.find("lacks at least ") != std::string::npos);
}

TEST_CASE("Nothing is legal: which rules, and how many break each") {
  Scenario s = scenario();
  s.parallelism.world_size = 4096; // of a cluster of 64
  s.cluster.nodes = 8;
  const std::string why = why_none(s);
  CAPTURE(why);
  CHECK(why.find("configurations of 4096 GPUs is legal") != std::string::npos);
  CHECK(why.find("world_size") != std::string::npos);
}
