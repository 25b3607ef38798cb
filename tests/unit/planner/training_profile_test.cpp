// What measured runs taught goes into a profile of its own, with how far off predictions were, and a run states it.
#include "sim/planner/validate/training_profile.h"

#include <doctest/doctest.h>

#include "sim/base/error.h"
#include "sim/config/dump.h"
#include "sim/config/load.h"
#include "sim/planner/simulate.h"
#include "sim/planner/validate/factors.h"

using namespace tessella;

namespace {

const char* const kKernels = "calib/profiles/h100_sxm/2026-11-29-published/profile.yaml";

ValidationRow judged(const std::string& group, const std::string& gpu, double measured, double predicted) {
  ValidationRow row;
  row.group = group;
  row.kind = "moe";
  row.gpu = gpu;
  row.modelled = row.judged = true;
  row.measured_s = measured;
  row.predicted_s = predicted;
  row.error = predicted / measured - 1.0;
  return row;
}

// Eleven runs of one group, measured over predicted from 0.9 to 1.1, and one each of another group and an older GPU.
ValidationReport sample_report() {
  ValidationReport report;
  for (int i = 0; i <= 10; ++i) report.rows.push_back(judged("ours", "h200_sxm", 0.90 + 0.02 * i, 1.0));
  report.rows.push_back(judged("theirs", "h100_sxm", 2.0, 1.0));
  report.rows.push_back(judged("older", "a100_sxm", 9.0, 1.0));
  for (const FactorInfo& f : factor_table()) report.factors.push_back({f.name, f.meaning, 1.0, {{"theirs", 1.0}}});
  report.factors[0].value = 1.25; // clock
  report.factors[0].without_group[0].second = 1.5;
  return report;
}

} // namespace

TEST_CASE("A training profile: factors applied and told, whole steps as a row, the rest untouched") {
  const Profile kernels = load_profile(kKernels);
  const Profile p = training_profile(kernels, sample_report(), {"h100_sxm/taught", "runs.csv", std::nullopt});
  CHECK(p.name == "h100_sxm/taught");
  const double burst = *kernels.find("sustained")->param("factor");
  const ProfileEntry* sustained = p.find("sustained");
  REQUIRE(sustained != nullptr);
  CHECK(*sustained->param("factor") == doctest::Approx(burst / 1.25));
  CHECK(sustained->provenance == Provenance::derived);
  CHECK(sustained->source.find("times 1.25: factor 'clock' fitted on runs.csv") != std::string::npos);
  REQUIRE(kernels.find("all_to_all", "", "fabric") != nullptr);
  CHECK(*p.find("all_to_all", "", "fabric") == *kernels.find("all_to_all", "", "fabric"));
  const ProfileEntry* whole = p.find("step_moe");
  REQUIRE(whole != nullptr);
  CHECK(whole->residual->rows == 12); // not the older GPU
  CHECK(*whole->param("low") == doctest::Approx(0.911).epsilon(0.001));
  CHECK(p.find("step_dense") == nullptr);
  CHECK(knows_training_runs(p));
  CHECK_FALSE(knows_training_runs(kernels));
  CHECK(load_profile_text("p.yaml", to_yaml(p)) == p);
}

TEST_CASE("A group left out has taught nothing and is judged nowhere") {
  const Profile kernels = load_profile(kKernels);
  const Profile p = training_profile(kernels, sample_report(), {"h100_sxm/taught", "runs.csv", "theirs"});
  CHECK(*p.find("sustained")->param("factor") == doctest::Approx(*kernels.find("sustained")->param("factor") / 1.5));
  CHECK(p.find("step_moe")->residual->rows == 11);
  CHECK(*p.find("step_moe")->param("high") == doctest::Approx(1.09));
  CHECK_THROWS_WITH_AS(training_profile(kernels, sample_report(), {"h100_sxm/taught", "runs.csv", "their"}),
                       doctest::Contains("did you mean 'theirs'?"), InputError);
}

TEST_CASE("A run states the interval of its profile, and none where it has none") {
  Scenario s = load_scenario("experiments/00_template/experiment.yaml");
  std::erase_if(s.profile.entries, [](const ProfileEntry& e) { return e.op == "step_dense" || e.op == "step_moe"; });
  CHECK_FALSE(simulate(s, {}).prediction.has_value());
  const std::string kind = s.model.has_moe() ? "moe" : "dense";
  s.profile.entries.push_back({"step_" + kind,
                               "",
                               "",
                               "spread",
                               {{"low", 0.75}, {"high", 1.5}},
                               Provenance::measured,
                               "runs.csv",
                               Residual{0.1, 0.4, 12}});
  const RunResult r = simulate(s, {});
  REQUIRE(r.prediction.has_value());
  CHECK(r.prediction->low.seconds() == doctest::Approx(0.75 * r.step_time_p05.seconds()));
  CHECK(r.prediction->high.seconds() == doctest::Approx(1.5 * r.step_time_p95.seconds()));
  CHECK(r.prediction->runs == kind);
}
