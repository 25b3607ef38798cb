// The two-job job shop against brute-forced optima, pencil-sized cases, and a real pair of DeepSeek-V3.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/planner/overlap/overlap.h"
#include "sim/planner/overlap/overlap_chains.h"
#include "tests/support/dsv3_pair.h"
#include "tests/support/pairs.h"

using namespace tessella;
using tessella::testing::PairBuilder;

namespace {

using Chain = std::vector<std::pair<std::string, std::int64_t>>; // resource, duration

// Resources C and N are the two lanes, others get numbers of their own; nothing contends.
TwoJobShop shop_of(const Chain& a, const Chain& b) {
  std::map<std::string, std::uint8_t> numbers = {{"C", 0}, {"N", 1}};
  TwoJobShop shop;
  for (std::size_t job = 0; job < 2; ++job)
    for (const auto& [resource, time] : job == 0 ? a : b) {
      const auto number = numbers.emplace(resource, static_cast<std::uint8_t>(numbers.size())).first->second;
      shop.jobs[job].push_back({number, {{Duration{time}, Pace{}}}});
    }
  return shop;
}

std::int64_t optimum(const TwoJobShop& shop) {
  return TwoJobSolution(shop).makespan().ps;
}

// The starts are those of a schedule: chains in order, resources one at a time, the last end is the makespan.
void check_starts(const TwoJobShop& shop) {
  const TwoJobSolution solution(shop);
  struct Span {
    std::int64_t begin, end;
    std::uint8_t resource;
  };
  std::vector<Span> spans;
  std::array<std::int64_t, 2> job_end{};
  std::array<std::size_t, 2> next{};
  for (const TwoJobSolution::Start& s : solution.starts()) {
    CHECK(s.op == next[s.job]++);
    CHECK(s.at.ps >= job_end[s.job]);
    const ShopOp& op = shop.jobs[s.job][s.op];
    job_end[s.job] = s.at.ps + op.parts.front().work.ps;
    for (const Span& other : spans)
      if (other.resource == op.resource) CHECK((s.at.ps >= other.end || job_end[s.job] <= other.begin));
    spans.push_back({s.at.ps, job_end[s.job], op.resource});
  }
  CHECK(next[0] == shop.jobs[0].size());
  CHECK(next[1] == shop.jobs[1].size());
  CHECK(std::max(job_end[0], job_end[1]) == solution.makespan().ps);
}

Chain chain_of(const nlohmann::json& job) {
  Chain chain;
  for (const auto& op : job) chain.emplace_back(op[0].get<std::string>(), op[1].get<std::int64_t>());
  return chain;
}

} // namespace

TEST_CASE("Brute-forced optima of small job shops") {
  struct Case {
    const char* name;
    Chain a, b;
    std::int64_t optimal;
  };
  const std::vector<Case> cases = {
      {"one MoE layer each, unit times",
       {{"C", 1}, {"N", 1}, {"C", 1}, {"N", 1}},
       {{"N", 1}, {"C", 2}, {"N", 1}, {"C", 2}},
       6},
      {"communication-heavy", {{"C", 2}, {"N", 4}, {"C", 2}, {"N", 4}}, {{"N", 4}, {"C", 4}, {"N", 4}, {"C", 4}}, 16},
      {"compute-heavy", {{"C", 6}, {"N", 2}, {"C", 4}, {"N", 2}}, {{"N", 2}, {"C", 8}, {"N", 2}, {"C", 12}}, 30},
      {"a layer of DeepSeek-V3 in units of 10 us",
       {{"C", 430}, {"N", 435}, {"C", 450}, {"N", 600}},
       {{"N", 340}, {"C", 530}, {"N", 640}, {"C", 930}},
       2530},
      {"two layers",
       {{"C", 2}, {"N", 3}, {"C", 2}, {"N", 3}, {"C", 2}, {"N", 3}, {"C", 2}, {"N", 3}},
       {{"N", 3}, {"C", 4}, {"N", 3}, {"C", 4}, {"N", 3}, {"C", 4}, {"N", 3}, {"C", 4}},
       28},
      {"dense beside MoE, above every resource bound", {{"C", 5}}, {{"N", 3}, {"C", 4}, {"N", 3}, {"C", 4}}, 16},
      {"one resource: the sum", {{"C", 3}, {"C", 2}}, {{"C", 4}}, 9},
      {"no conflict: the longer", {{"C", 3}}, {{"N", 4}}, 4},
      {"three resources", {{"C", 2}, {"N", 3}, {"P", 1}, {"C", 2}}, {{"P", 2}, {"N", 2}, {"C", 3}, {"N", 1}}, 10},
      {"two links", {{"C", 4}, {"IB", 3}, {"C", 3}, {"NV", 2}}, {{"NV", 2}, {"C", 5}, {"IB", 4}, {"C", 1}}, 14},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const TwoJobShop shop = shop_of(c.a, c.b);
    CHECK(optimum(shop) == c.optimal);
    CHECK(optimum(shop_of(c.b, c.a)) == c.optimal);
    check_starts(shop);
  }
}

TEST_CASE("Published job-shop instances") {
  std::ifstream file("../shared/data/jobshop2_oracle.json");
  if (!file) {
    MESSAGE("skipped: ../shared/data/jobshop2_oracle.json is not present");
    return;
  }
  const auto cases = nlohmann::json::parse(file)["cases"];
  CHECK(cases.size() == 51);
  for (const auto& c : cases) {
    CAPTURE(c["name"].get<std::string>());
    const TwoJobShop shop = shop_of(chain_of(c["A"]), chain_of(c["B"]));
    CHECK(optimum(shop) == c["optimal"].get<std::int64_t>());
    check_starts(shop);
  }
}

TEST_CASE("Contention by hand: an exchange that can hide slows what hides it") {
  // A: 10 of compute at slowdown 2. B: exchange of 6. Side by side 6 of time do 3 of work: 6 + 7 = 13.
  TwoJobShop shop;
  shop.jobs[0].push_back({0, {{Duration{10}, Pace::slowed_by(2.0)}}});
  shop.jobs[1].push_back({1, {{Duration{6}, Pace{}}}});
  CHECK(optimum(shop) == 13);
  // With another 4 of compute at full speed in front, the exchange still starts at once: no order can hold it back.
  shop.jobs[0].insert(shop.jobs[0].begin(), ShopOp{0, {{Duration{4}, Pace{}}}});
  CHECK(optimum(shop) == 4 + 2 + 9);
}

TEST_CASE("Contention by hand: waiting on purpose pays where a slow neighbour would cost more") {
  // A computes 4 (slowdown 4), exchanges 4, computes 8 (no slowdown). B exchanges 4.
  // B first: A's 4 run at a quarter beside it (1 done in 4), then 3 alone: exchange at 7, end at 7 + 4 + 8 = 19.
  // A first: 4, exchange to 8, then B's exchange hides behind the 8: 16. B waits for an exchange that is not yet ready.
  TwoJobShop shop;
  shop.jobs[0] = {
      {0, {{Duration{4}, Pace::slowed_by(4.0)}}}, {1, {{Duration{4}, Pace{}}}}, {0, {{Duration{8}, Pace{}}}}};
  shop.jobs[1] = {{1, {{Duration{4}, Pace{}}}}};
  CHECK(optimum(shop) == 16);
  const std::vector<TwoJobSolution::Start> starts = TwoJobSolution(shop).starts();
  CHECK(std::find_if(starts.begin(), starts.end(), [](const auto& s) { return s.job == 1; })->at.ps == 8);
}

TEST_CASE("DeepSeek-V3's pair: the order it ships replays as published, the searched order ends no later") {
  const PairProblem problem = tessella::testing::dsv3_pair();
  const PairPlan shipped = tessella::testing::dsv3_shipped_order();
  const PairResult replay = cost_of_order(problem, shipped);
  CHECK(replay.post_overlap.ps == 126'294'000'000); // dsv3_pair_replay.json; measured 129.012 ms
  CHECK(replay.ep_busy.ps == 114'521'000'000);
  const PairResult searched = schedule_pair(problem, OverlapMethod::exact);
  CHECK(searched.proven);
  CHECK(searched.post_overlap <= replay.post_overlap);
  CHECK(schedule_pair(problem, OverlapMethod::megatron).post_overlap == replay.post_overlap); // the same order
  MESSAGE("searched " << searched.post_overlap.seconds() * 1e3 << " ms, align_defer "
                      << schedule_pair(problem, OverlapMethod::align_defer).post_overlap.seconds() * 1e3 << " ms");
}
