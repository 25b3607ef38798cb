// The certificate is a lower bound: whatever partition is tried under whatever schedule, no simulated step is below it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/partition/refine.h"
#include "sim/planner/partition/weighted_bound.h"
#include "sim/planner/simulate.h"

using namespace tessella;

namespace {

struct Case {
  std::string schedule;
  int vpp = 1;
  bool overlaps = false;
  bool delays = false;
};

Scenario scenario(const Case& c, bool overlap_reduce) {
  LoadOptions options;
  const auto flag = [](bool on) { return std::string(on ? "true" : "false"); };
  options.overrides = {"batch.gbs=256",
                       "parallelism.vpp=" + std::to_string(c.vpp),
                       "schedule.name=" + c.schedule,
                       "schedule.overlap_moe_expert_parallel_comm=" + flag(c.overlaps),
                       "schedule.delay_wgrad_compute=" + flag(c.delays),
                       "optimizer.overlap_grad_reduce=" + flag(overlap_reduce),
                       "optimizer.overlap_param_gather=" + flag(overlap_reduce)};
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

const std::vector<Case> kCases = {
    {"1f1b", 1, false, false},
    {"interleaved_1f1b", 4, false, false},
    {"interleaved_1f1b", 4, true, false},
    {"interleaved_1f1b", 2, true, true},
    {"gpipe", 1, false, false},
    {"zb_h1", 1, false, false},
    {"zb_v", 2, false, false},
    {"v_half", 2, false, false},
    {"interleaved_zb", 2, false, false},
    {"dualpipe", 1, false, false},
    {"dualpipe_v", 2, false, false},
};

} // namespace

TEST_CASE("No partition of any schedule is faster than its certificate") {
  for (const Case& c : kCases)
    for (const bool overlap_reduce : {true, false}) {
      CAPTURE(c.schedule);
      CAPTURE(c.vpp);
      CAPTURE(c.overlaps);
      CAPTURE(overlap_reduce);
      Scenario s = scenario(c, overlap_reduce);
      const Duration bound = certify(s).lower_bound;
      CHECK(bound > Duration{});
      // A few partitions near the even one, and a lopsided one reached by moving layers on and on.
      std::vector<Partition> tried = {s.partition, uniform_partition(s.model, s.parallelism.num_stages()),
                                      layer_count_partition(s.model, s.parallelism.num_stages())};
      const std::vector<Partition> moves = one_layer_moves(tried[1]);
      for (std::size_t i = 0; i < moves.size(); i += 1 + moves.size() / 6) tried.push_back(moves[i]);
      for (int step = 0; step < 4; ++step) tried.push_back(one_layer_moves(tried.back()).front());
      for (const Partition& p : tried) {
        s.partition = p;
        CHECK(simulate(s, {}).step_time >= bound);
      }
    }
}

TEST_CASE("Weighted windows are tighter than the mean of the ranks where a rank holds several chunks") {
  const Scenario s = scenario({"interleaved_1f1b", 4, true, true}, false);
  const PlanCertificate c = certify(s);
  const Duration cheap = std::max_element(c.bounds.begin(), c.bounds.end() - 1, [](const auto& a, const auto& b) {
                           return a.value < b.value;
                         })->value;
  CHECK(c.bounds.back().value > cheap);
  CHECK(c.lower_bound == c.bounds.back().value);
}
