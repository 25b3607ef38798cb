// Expected numbers of the experiments whose `study` is `surrogates`: does the cost that a partitioner minimises rank
// partitions as their simulated steps do? One experiment, planned without refinement; step times in ratios:
//
//   edge_over_serial, rank_sum_over_serial   the smallest largest edge, and the smallest largest sum of a rank's edges
//                                            (none dearer than the largest of serial), over the serial-balanced row
//   rank_sum_over_edge                       the two surrogates over each other
//   additive_over_best                       the additive row over the fastest one
//   proven                                   1 when both surrogates are proven smallest in the neighbourhood
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/config/load.h"
#include "sim/planner/make_plan.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

double step_of(const PlanFile& plan, const std::string& name) {
  if (plan.best.name == name) return plan.best.step_time.seconds();
  const auto row =
      std::find_if(plan.baselines.begin(), plan.baselines.end(), [&](const PlanRow& r) { return r.name == name; });
  REQUIRE_MESSAGE(row != plan.baselines.end(), name);
  return row->step_time.seconds();
}

bool rank_sum_proven(const PlanFile& plan) {
  return std::any_of(plan.limits.begin(), plan.limits.end(), [](const std::string& text) {
    return text.starts_with("rank sum:") && text.find("proven smallest") != std::string::npos;
  });
}

std::map<std::string, double> numbers_of(const fs::path& experiment) {
  PlanOptions options;
  options.threads = 2;
  options.refine_rounds = 0;
  const PlanFile plan = make_plan(load_scenario(experiment, {}), options);
  const double serial = step_of(plan, "serial");
  const double edge = step_of(plan, "overlap");
  const double sum = step_of(plan, "rank_sum");
  return {{"edge_over_serial", edge / serial},
          {"rank_sum_over_serial", sum / serial},
          {"rank_sum_over_edge", sum / edge},
          {"additive_over_best", step_of(plan, "additive") / plan.best.step_time.seconds()},
          {"proven", plan.certificate.surrogate_proven && rank_sum_proven(plan) ? 1.0 : 0.0}};
}

} // namespace

TEST_CASE("Experiments on surrogates give their expected numbers") {
  int studies = 0;
  for (const fs::path& file : testing::expected_files()) {
    const YAML::Node study = YAML::LoadFile(file.string());
    if (!study["study"] || study["study"].as<std::string>() != "surrogates") continue;
    CAPTURE(file.string());
    ++studies;
    const auto numbers = numbers_of(file.parent_path().parent_path() / study["experiment"].as<std::string>());
    for (const YAML::Node& number : study["numbers"]) {
      const auto key = number["key"].as<std::string>();
      REQUIRE_MESSAGE(numbers.count(key) == 1, key);
      testing::check_number(number, numbers.at(key));
    }
  }
  CHECK(studies >= 6);
}
