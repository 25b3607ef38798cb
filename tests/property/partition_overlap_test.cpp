// The overlap-aware solvers on random instances: brute force, threshold search and MILP prove the same optimum.
#include <doctest/doctest.h>

#include <chrono>

#include "sim/base/rng.h"
#include "sim/domain/layout.h"
#include "sim/planner/overlap/overlap_graph.h"
#include "sim/planner/partition/partition_exact.h"
#include "sim/planner/partition/partition_milp.h"
#include "sim/planner/partition/rank_sum.h"
#include "sim/planner/partition/total_memory.h"
#include "sim/schedule/table.h"

using namespace tessella;

namespace {

// Random layer times; a pair costs the larger of the two sums plus a part of the smaller that depends on both.
EdgeCost random_cost(std::uint64_t seed, std::int64_t layers) {
  std::vector<std::int64_t> time;
  const Stream stream(seed, Purpose::test);
  for (std::int64_t i = 0; i < layers; ++i)
    time.push_back(static_cast<std::int64_t>(5 + stream.word(static_cast<std::uint64_t>(i)) % 30));
  return [time, stream](const StageContent& f, const StageContent& b) {
    const auto sum = [&](const StageContent& c) {
      std::int64_t total = c.loss ? 10 : 0;
      for (std::int32_t l = c.first_layer; l < c.first_layer + c.num_layers; ++l)
        total += time[static_cast<std::size_t>(l)];
      return total;
    };
    const std::int64_t x = sum(f);
    const std::int64_t y = 2 * sum(b);
    const auto draw =
        stream.substream(static_cast<std::uint64_t>(f.num_layers)).word(static_cast<std::uint64_t>(x + y));
    return Duration{std::max(x, y) + std::min(x, y) * static_cast<std::int64_t>(draw % 4) / 4};
  };
}

struct Instance {
  PartitionProblem problem;
  OverlapGraph graph;
  Partition baseline;
  EdgeCost cost;
};

Instance instance(std::uint64_t seed, std::int32_t pp, std::int32_t vpp, std::int64_t layers, std::int32_t radius) {
  ScheduleSpec spec;
  spec.name = vpp == 1 ? "1f1b" : "interleaved_1f1b";
  spec.overlap_moe_expert_parallel_comm = true;
  REQUIRE_FALSE(check_schedule_spec(spec, pp, vpp, 4 * pp));
  Instance x;
  x.graph = overlap_graph(make_schedule(spec, pp, vpp, 4 * pp));
  x.baseline = partition_of(balanced_split(layers, pp * vpp), 0);
  x.cost = random_cost(seed, layers);
  x.problem = partition_problem(x.graph, candidates_around(x.baseline, radius), x.cost, nullptr);
  return x;
}

// Limits that exclude some ranges: a random load per layer of each stage.
void add_limits(PartitionProblem& problem, std::uint64_t seed, std::int32_t pp) {
  const Stream stream(seed, Purpose::test, 1);
  const auto n = static_cast<std::int32_t>(problem.candidates.size());
  for (std::int32_t r = 0; r < pp; ++r) {
    PartitionProblem::Limit limit;
    std::int64_t typical = 0;
    for (std::int32_t s = r; s < n; s += pp) {
      limit.stages.push_back(s);
      const auto weight = static_cast<std::int64_t>(1 + stream.word(static_cast<std::uint64_t>(s)) % 9);
      std::vector<Bytes>& load = limit.load.emplace_back();
      for (const StageContent& c : problem.candidates[static_cast<std::size_t>(s)])
        load.push_back(Bytes{weight * c.num_layers});
      typical += load[load.size() / 2].count;
    }
    limit.cap = Bytes{typical - 4 + static_cast<std::int64_t>(stream.word(1000 + static_cast<std::uint64_t>(r)) % 12)};
    problem.limits.push_back(limit);
  }
}

bool respects(const PartitionProblem& p, const std::vector<std::int32_t>& choice) {
  for (const auto& l : p.limits) {
    Bytes sum;
    for (std::size_t i = 0; i < l.stages.size(); ++i)
      sum += l.load[i][static_cast<std::size_t>(choice[static_cast<std::size_t>(l.stages[i])])];
    if (sum > l.cap) return false;
  }
  return true;
}

using Objective = Duration (*)(const PartitionProblem&, const std::vector<std::int32_t>&);

std::optional<Duration> brute_force(const PartitionProblem& p, std::vector<std::int32_t>& choice, std::int32_t at,
                                    Objective objective = bottleneck_of_choice) {
  if (choice.size() == p.candidates.size())
    return respects(p, choice) ? std::optional(objective(p, choice)) : std::nullopt;
  std::optional<Duration> best;
  const auto& stage = p.candidates[choice.size()];
  for (std::size_t c = 0; c < stage.size(); ++c) {
    if (stage[c].first_layer != at) continue;
    choice.push_back(static_cast<std::int32_t>(c));
    const auto found = brute_force(p, choice, at + stage[c].num_layers, objective);
    choice.pop_back();
    if (found && (!best || *found < *best)) best = found;
  }
  return best;
}

bool meets(const Partition& p, std::int32_t layers) {
  std::int32_t at = 0;
  for (const StageContent& s : p.stages) {
    if (s.first_layer != at) return false;
    at += s.num_layers;
  }
  return at == layers;
}

} // namespace

TEST_CASE("Threshold search finds what brute force finds, with and without limits") {
  int infeasible = 0;
  int too_heavy = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const std::int32_t vpp = 1 + static_cast<std::int32_t>(seed % 2);
    Instance x = instance(seed, seed % 3 == 0 ? 3 : 2, vpp, 10 + static_cast<std::int64_t>(seed % 4), 1);
    if (seed % 2 == 1) add_limits(x.problem, seed, x.graph.num_stages / vpp);
    if (seed % 20 == 1) // some that nothing can hold
      for (auto& limit : x.problem.limits) limit.cap = Bytes{limit.cap.count * 2 / 3};
    std::vector<std::int32_t> choice;
    const auto truth = brute_force(x.problem, choice, 0);
    const auto found = solve_exact(x.problem);
    REQUIRE(found.has_value() == truth.has_value());
    if (!may_fit_in_total(x.problem)) {
      REQUIRE_FALSE(truth);
      ++too_heavy;
    }
    if (!truth) {
      ++infeasible;
      continue;
    }
    REQUIRE(found->proven());
    REQUIRE(found->bottleneck == *truth);
    REQUIRE(respects(x.problem, found->choice));
    const Partition p = partition_of_choice(x.problem, found->choice);
    REQUIRE(meets(p, 10 + static_cast<std::int32_t>(seed % 4)));
    REQUIRE(bottleneck(x.graph, p, x.cost) == *truth);
  }
  CHECK(infeasible > 5);
  CHECK(infeasible < 95);
  CHECK(too_heavy > 0);
}

TEST_CASE("The rank-sum search finds what brute force finds, with and without limits") {
  int infeasible = 0;
  int differs = 0; // from the partition with the smallest edge
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const std::int32_t vpp = 1 + static_cast<std::int32_t>(seed % 3);
    const std::int64_t layers = 11 + static_cast<std::int64_t>(seed % 3);
    Instance x = instance(seed, vpp == 1 ? 4 : 2, vpp, layers, 1);
    if (seed % 2 == 1) add_limits(x.problem, seed, x.graph.num_stages / vpp);
    std::vector<std::int32_t> choice;
    const auto truth = brute_force(x.problem, choice, 0, rank_sum_of_choice);
    const auto found = solve_rank_sum(x.problem, x.baseline);
    REQUIRE(found.has_value() == truth.has_value());
    if (!truth) {
      ++infeasible;
      continue;
    }
    REQUIRE(found->proven());
    REQUIRE(found->bottleneck == *truth);
    REQUIRE(respects(x.problem, found->choice));
    const Partition p = partition_of_choice(x.problem, found->choice);
    REQUIRE(meets(p, static_cast<std::int32_t>(layers)));
    REQUIRE(rank_sum(x.graph, p, x.cost) == *truth);
    if (solve_exact(x.problem)->bottleneck < bottleneck(x.graph, p, x.cost)) ++differs;
  }
  CHECK(infeasible > 5);
  CHECK(infeasible < 70);
  CHECK(differs > 20);
}

TEST_CASE("A rank-sum search that runs out of nodes falls back on what is known, with a bound that holds") {
  const Instance x = instance(3, 4, 2, 30, 2);
  const auto whole = solve_rank_sum(x.problem, x.baseline);
  REQUIRE(whole);
  int unproven = 0;
  for (const std::int64_t nodes : {1, 100, 3000, 30000}) {
    CAPTURE(nodes);
    const auto found = solve_rank_sum(x.problem, x.baseline, nodes);
    REQUIRE(found);
    CHECK(found->lower_bound <= whole->bottleneck);
    CHECK(found->bottleneck >= whole->bottleneck);
    CHECK(found->bottleneck <= rank_sum(x.graph, x.baseline, x.cost));
    CHECK(found->nodes <= nodes);
    unproven += found->proven() ? 0 : 1;
  }
  CHECK(unproven > 0);
}

TEST_CASE("More memory never hurts a rank that holds several chunks, by either surrogate") {
  int helped = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Instance x = instance(seed, 3, 2 + static_cast<std::int32_t>(seed % 2), 18, 1);
    add_limits(x.problem, seed, 3);
    std::optional<PartitionSolution> edge, sum;
    for (int extra = 0; extra < 4; ++extra) {
      const auto next_edge = solve_exact(x.problem);
      const auto next_sum = solve_rank_sum(x.problem, x.baseline);
      REQUIRE(next_edge.has_value() == next_sum.has_value());
      REQUIRE((next_edge || !edge));
      if (edge) {
        REQUIRE(next_edge->bottleneck <= edge->bottleneck);
        REQUIRE(next_sum->bottleneck <= sum->bottleneck);
        helped += next_edge->bottleneck < edge->bottleneck || next_sum->bottleneck < sum->bottleneck ? 1 : 0;
      }
      edge = next_edge;
      sum = next_sum;
      for (auto& l : x.problem.limits) l.cap += Bytes{4};
    }
  }
  CHECK(helped > 10);
}

TEST_CASE("Pruning by the baseline keeps the optimum and shrinks the problem") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Instance x = instance(seed, 4, 2, 30, 2);
    const Duration base = bottleneck(x.graph, x.baseline, x.cost);
    const PartitionProblem pruned = prune(x.problem, base);
    CHECK(pruned.variables() < x.problem.variables());
    const auto whole = solve_exact(x.problem);
    const auto less = solve_exact(pruned);
    REQUIRE(whole);
    REQUIRE(less);
    CHECK(whole->bottleneck == less->bottleneck);
    CHECK(whole->bottleneck <= base);
  }
}

TEST_CASE("CBC proves the same optimum") {
  if (!has_milp()) {
    MESSAGE("skipped: built without CBC");
    return;
  }
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    const std::int32_t vpp = 1 + static_cast<std::int32_t>(seed % 2);
    Instance x = instance(seed, 3, vpp, 16, 2);
    if (seed % 3 != 0) add_limits(x.problem, seed, 3);
    const auto exact = solve_exact(x.problem);
    const auto milp = solve_milp(x.problem);
    REQUIRE(milp.has_value() == exact.has_value());
    if (!milp) continue;
    CHECK(milp->proven());
    CHECK(milp->bottleneck == exact->bottleneck);
    CHECK(respects(x.problem, milp->choice));
    CHECK(milp_size(x.problem).variables <= x.problem.variables());
  }
}

TEST_CASE("PP8 with 2 and 4 chunks: the size of the published instances, solved in a blink") {
  for (const auto& [vpp, layers, radius] : {std::tuple{2, 64, 2}, {2, 96, 2}, {4, 64, 1}, {4, 96, 2}}) {
    const Instance x = instance(5, 8, vpp, layers, radius);
    const PartitionProblem pruned = prune(x.problem, bottleneck(x.graph, x.baseline, x.cost));
    const auto start = std::chrono::steady_clock::now();
    const auto found = solve_exact(pruned);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    REQUIRE(found);
    MESSAGE("PP8-C" << vpp << " L" << layers << " edges " << x.graph.edges.size() << " variables "
                    << x.problem.variables() << " -> " << pruned.variables() << ", " << seconds << " s, nodes "
                    << found->nodes << ", proven " << found->proven());
    CHECK(found->proven());
    CHECK(seconds < 2.0);
    const auto sum = solve_rank_sum(pruned, x.baseline, 2'000'000);
    REQUIRE(sum);
    MESSAGE("rank sums: nodes " << sum->nodes << ", proven " << sum->proven());
    CHECK(sum->bottleneck <= rank_sum(x.graph, x.baseline, x.cost));
  }
}
