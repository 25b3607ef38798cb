// Chunks, candidates and the table of pair costs, on Qwen3-Next-M.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "sim/base/error.h"
#include "sim/config/load.h"
#include "sim/exec/lower.h"
#include "sim/exec/replica.h"
#include "sim/exec/routed_loads.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/overlap/pair_orders.h"
#include "sim/planner/simulate.h"

using namespace tessella;

namespace {

Scenario scenario(std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.overrides = std::move(overrides);
  return load_scenario("experiments/13_fig13_overlap_heuristics/experiment.yaml", options);
}

std::vector<ChunkPair> some_pairs(const Scenario& s, std::int32_t radius) {
  return candidate_pairs(s.model, s.partition, schedule_of(s), radius);
}

// The forward of all micro-batches but the first beside the backward of all but the last, on one pipeline rank: one
// more micro-batch costs one more pair.
Time end_of_pipeline(const Scenario& s, const PairPlans& plans) {
  const Schedule schedule = schedule_of(s);
  const Program program = lower(s, schedule, make_model_ops(s), plans);
  RoutedLoads loads(s);
  loads.prepare(0);
  Replica replica(program, &loads);
  replica.run(0, 0, 1, nullptr, {});
  return replica.groups()[0].clock[0];
}

} // namespace

TEST_CASE("Chunks by what they hold") {
  const Scenario s = scenario();
  const auto text = [&](std::size_t stage) { return to_text(chunk_spec(s.model, s.partition.stages[stage]), s.model); };
  CHECK(text(0) == "embedding+2*gdn_moe");
  CHECK(text(1) == "gdn_moe+full_moe");
  CHECK(text(2) == "2*gdn_moe");
  CHECK(text(31) == "gdn_moe+full_moe+head");
  CHECK(chunk_spec(s.model, s.partition.stages[1]) == chunk_spec(s.model, s.partition.stages[3]));
  CHECK(to_text(ChunkSpec{}, s.model) == "empty");
}

TEST_CASE("Candidates move both boundaries, edges are the schedule's pairs") {
  const Scenario s = scenario();
  const auto chunks = candidate_chunks(s.model, s.partition, 5, 1); // layers 10, 11 of period GGGA: "GA"
  std::set<std::string> texts;
  for (const ChunkSpec& c : chunks) texts.insert(to_text(c, s.model));
  CHECK(texts == std::set<std::string>{"gdn_moe", "full_moe", "gdn_moe+full_moe", "full_moe+gdn_moe",
                                       "gdn_moe+full_moe+gdn_moe", "2*gdn_moe+full_moe", "2*gdn_moe",
                                       "2*gdn_moe+full_moe+gdn_moe"});
  CHECK(candidate_chunks(s.model, s.partition, 5, 0).size() == 1);
  for (const ChunkSpec& c : candidate_chunks(s.model, s.partition, 0, 2)) CHECK(c.embedding);
  const auto edges = overlap_edges(schedule_of(s));
  CHECK(edges.size() == 8 * 4 * 2); // each forward chunk of a rank meets the backward of two
  for (const auto& [f, b] : edges) CHECK(f % 8 == b % 8);
  CHECK(some_pairs(s, 0).size() < 40);
}

TEST_CASE("Equal pairs are computed once, whatever the number of threads") {
  const Scenario s = scenario();
  const ChunkLibrary chunks(s, make_model_ops(s));
  const std::vector<ChunkPair> once = some_pairs(s, 1);
  const std::size_t distinct = once.size();
  std::vector<ChunkPair> pairs = once;
  pairs.insert(pairs.end(), once.begin(), once.end());
  PairCostTable one(chunks, OverlapMethod::align_defer);
  one.fill(pairs, 1);
  CHECK(one.size() == distinct);
  CHECK(one.computed() == distinct);
  PairCostTable two(chunks, OverlapMethod::align_defer);
  two.fill(pairs, 2);
  CHECK(one.text() == two.text());
  one.fill(pairs, 1);
  CHECK(one.computed() == distinct);
  const PairResult direct =
      schedule_pair(chunks.problem(pairs[3].first, pairs[3].second, pairs[3].passes), OverlapMethod::align_defer);
  CHECK(one.cost(pairs[3].first, pairs[3].second) == direct.post_overlap);
}

TEST_CASE("Costs lie between the longer action and both one after the other") {
  const Scenario s = scenario();
  const ChunkLibrary chunks(s, make_model_ops(s));
  PairCostTable table(chunks, OverlapMethod::exact);
  for (const ChunkPair& pair : some_pairs(s, 0)) {
    const PairCost& cost = table.at(pair);
    const Duration f = chunks.alone(pair.first, ActionKind::F);
    const Duration b = chunks.alone(pair.second, ActionKind::B);
    CHECK(cost.serial == f + b);
    CHECK(cost.post_overlap < cost.serial);
    CHECK(cost.post_overlap >= max(f, b));
    CHECK(cost.lower_bound == cost.post_overlap);
  }
}

TEST_CASE("A saved table is taken over by the same inputs only, and whole or not at all") {
  const Scenario s = scenario();
  const ChunkLibrary chunks(s, make_model_ops(s));
  const std::vector<ChunkPair> pairs = some_pairs(s, 0);
  PairCostTable table(chunks, OverlapMethod::align_defer);
  table.fill(pairs, 1);
  char folder[] = "/tmp/tessella-pairs-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/pairs.csv";
  table.save(path);

  PairCostTable again(chunks, OverlapMethod::align_defer);
  CHECK(again.load(path) == pairs.size());
  again.fill(pairs, 1);
  CHECK(again.computed() == 0);
  CHECK(again.text() == table.text());
  CHECK(again.at(pairs.front()) == table.at(pairs.front()));

  PairCostTable other_method(chunks, OverlapMethod::fifo);
  CHECK(other_method.load(path) == 0);
  const Scenario ep8 = scenario({"parallelism.ep=8"});
  const ChunkLibrary other_chunks(ep8, make_model_ops(ep8));
  PairCostTable other(other_chunks, OverlapMethod::align_defer);
  CHECK(other.inputs() != table.inputs());
  CHECK(other.load(path) == 0);
  CHECK(other.load(path + ".absent") == 0);

  const std::string text = table.text();
  const std::size_t row = text.rfind("FB,");
  for (const std::string& damaged :
       {text.substr(0, text.size() - 1), text + "x", text + text.substr(row), text.substr(1),
        text.substr(0, row) + "FB,a,b,1,2\n", text.substr(0, row) + "FB,a,b,-1,2,1,1,1\n", text.substr(0, row) + "\n"})
    CHECK(PairCostTable(chunks, OverlapMethod::align_defer).adopt(damaged) == 0);
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(table.save(path), InputError);
}

TEST_CASE("What the planner says a pair costs is what a step with one more pair takes longer") {
  const std::vector<std::string> base = {"parallelism.pp=1", "parallelism.vpp=1", "parallelism.world_size=32",
                                         "schedule.name=1f1b",
                                         "model.layers=[{kind: gdn_moe, count: 2}, {kind: full_moe, count: 1}]"};
  const auto with_batch = [&](const char* gbs) {
    std::vector<std::string> all = base;
    all.emplace_back(gbs);
    return scenario(all);
  };
  const Scenario three = with_batch("batch.gbs=96");
  const Scenario four = with_batch("batch.gbs=128");
  const ChunkLibrary chunks(three, make_model_ops(three));
  const ChunkSpec all = chunk_spec(three.model, three.partition.stages[0]);
  for (const OverlapMethod method : kOverlapMethods) {
    CAPTURE(std::string(name(method)));
    const PairResult r = schedule_pair(chunks.problem(all, all, {ActionKind::F, ActionKind::B}), method);
    const PairPlans plans = order_pairs({name(method), {}, {}}, chunks, three.partition, schedule_of(three), 1).plans;
    CHECK(plans == PairPlans{{{0, 0}, r.plan}});
    CHECK((end_of_pipeline(four, plans) - end_of_pipeline(three, plans)).ps == r.post_overlap.ps);
  }
  CHECK(end_of_pipeline(four, {}) ==
        end_of_pipeline(four, order_pairs({}, chunks, four.partition, schedule_of(four), 1).plans));
}
