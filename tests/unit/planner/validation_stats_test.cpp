#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/planner/validate/factor_fit.h"
#include "sim/planner/validate/measured_cluster.h"
#include "sim/planner/validate/measured_scenario.h"
#include "sim/planner/validate/validation_interval.h"
#include "sim/planner/validate/validation_stats.h"

using namespace tessella;

namespace {

// Rows with enough of a scenario for the statistics.
struct Bench {
  std::vector<MeasuredRun> runs;
  std::vector<Scenario> scenarios;
  std::vector<ValidationRow> rows;

  void add(const std::string& group, double measured, double predicted, double flops_rate = 0.0) {
    MeasuredRun run;
    run.id = group + std::to_string(runs.size());
    run.group = group;
    runs.push_back(run);
    Scenario s;
    s.batch = {1, 8, 1024};
    s.parallelism.world_size = 4;
    scenarios.push_back(s);
    ValidationRow row;
    row.id = run.id;
    row.group = group;
    row.model = "m";
    row.kind = "dense";
    row.gpu = "h100_sxm";
    row.precision = "bf16";
    row.gpus = 4;
    row.modelled = row.judged = true;
    row.measured_s = measured;
    row.predicted_s = predicted;
    row.error = predicted / measured - 1.0;
    rows.push_back(row);
    rates.push_back(flops_rate);
  }
  std::vector<JudgedRun> judged() {
    std::vector<JudgedRun> all;
    for (std::size_t i = 0; i < rows.size(); ++i)
      all.push_back({&runs[i], &scenarios[i], &rows[i], rates[i] * rows[i].measured_s * 4.0});
    return all;
  }
  std::vector<double> rates; // FLOP/s per GPU
};

} // namespace

TEST_CASE("quantiles interpolate between order statistics") {
  CHECK(quantile({3.0, 1.0, 2.0}, 0.5) == doctest::Approx(2.0));
  CHECK(quantile({1.0, 2.0}, 0.5) == doctest::Approx(1.5));
  CHECK(quantile({0.0, 10.0}, 0.9) == doctest::Approx(9.0));
  CHECK(quantile({7.0}, 0.9) == doctest::Approx(7.0));
}

TEST_CASE("the naive predictor knows the other groups only") {
  Bench b;
  b.add("a", 1.0, 1.0, 400e12);
  b.add("b", 1.0, 1.0, 500e12);
  b.add("b", 1.0, 1.0, 600e12);
  b.add("c", 1.0, 1.0, 800e12);
  b.rows[3].kind = "moe"; // alone
  auto runs = b.judged();
  add_naive(runs, runs);
  CHECK(*b.rows[0].naive_error == doctest::Approx(400.0 / 550.0 - 1.0)); // median of b
  CHECK(*b.rows[1].naive_error == doctest::Approx(500.0 / 400.0 - 1.0));
  CHECK_FALSE(b.rows[3].naive_error.has_value());
}

TEST_CASE("rank correlation counts pairs that the measurement orders") {
  Bench b;
  b.add("a", 1.00, 2.0);
  b.add("a", 1.01, 1.0); // a tie with the first
  b.add("a", 2.00, 3.0);
  b.add("a", 4.00, 2.5);
  const auto runs = b.judged();
  const auto ladder = ladders(runs);
  REQUIRE(ladder.size() == 1);
  CHECK(ladder[0].rows == 4);
  CHECK(ladder[0].pairs == 5);
  CHECK(ladder[0].tau == doctest::Approx(3.0 / 5.0)); // only 3 against 4 is the wrong way round
}

TEST_CASE("switch pairs differ in one word and in the measurement") {
  Bench b;
  b.add("a", 2.0, 2.0);
  b.add("a", 1.5, 1.8);
  b.add("a", 1.5, 2.0);
  b.add("a", 1.99, 1.0);
  b.runs[1].overlap = "on";
  b.runs[2].dispatcher = "DeepEP";
  b.runs[3].overlap = "on";
  b.runs[3].dispatcher = "DeepEP";
  const auto pairs = switch_pairs(b.judged());
  // 0-1 overlap, 0-2 dispatcher (not told apart), 1-3 dispatcher, 2-3 overlap; 1-2 and 0-3 differ in two words.
  REQUIRE(pairs.size() == 4);
  CHECK(pairs[0].right());
  CHECK(pairs[1].what == "dispatcher");
  CHECK_FALSE(pairs[1].told_apart);
  CHECK_FALSE(pairs[1].right());
  CHECK_FALSE(pairs[2].right()); // slower measured, faster predicted
}

TEST_CASE("summaries count what is judged and what could not be modelled") {
  Bench b;
  b.add("a", 1.0, 1.1);
  b.add("a", 1.0, 0.8);
  b.add("a", 1.0, 1.3);
  b.add("a", 1.0, 9.9);
  b.rows[3].modelled = b.rows[3].judged = false;
  b.rows[0].low_s = 0.9;
  b.rows[0].high_s = 1.2;
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& r : b.rows) rows.push_back(&r);
  const ErrorSummary s = summary_of(rows);
  CHECK(s.n == 3);
  CHECK(s.not_modelled == 1);
  CHECK(s.median_error == doctest::Approx(0.1));
  CHECK(s.median_abs_error == doctest::Approx(0.2));
  CHECK(s.p90_abs_error == doctest::Approx(0.28));
  CHECK(s.coverage == doctest::Approx(1.0 / 3.0));
}

TEST_CASE("the fit finds factors that were put in, and keeps to its expectation without data") {
  const std::size_t n = factor_table().size();
  CHECK(fit_factors({}) == neutral_factors());
  std::vector<FitRun> runs;
  for (std::size_t k = 0; k < n; ++k)
    for (int i = 0; i < 200; ++i) {
      FitRun run;
      run.of_moe = factor_table()[k].of_moe;
      run.sensitivity.assign(n, 0.0);
      run.sensitivity[k] = 1.0;
      run.log_ratio = k == 0 ? std::log(1.2) : 0.0;
      runs.push_back(run);
    }
  const Factors f = fit_factors(runs);
  CHECK(f[0] == doctest::Approx(1.2).epsilon(0.02));
  for (std::size_t k = 1; k < n; ++k) CHECK(f[k] == doctest::Approx(1.0).epsilon(0.01));
  // One vote among many: an outlier in a hundred moves little.
  runs[0].log_ratio = 5.0;
  CHECK(fit_factors(runs)[0] == doctest::Approx(1.2).epsilon(0.03));
}

TEST_CASE("a MoE run does not move what dense runs decide") {
  const std::size_t n = factor_table().size();
  FitRun moe{0.5, std::vector<double>(n, 0.0), 1.0, true};
  moe.sensitivity[0] = 1.0;
  CHECK(fit_factors({moe})[0] == doctest::Approx(1.0));
}

TEST_CASE("factors of 1 change nothing; a factor stretches its entries' time") {
  Profile p;
  p.entries.push_back(
      {"grouped_gemm", "bf16", "", "grouped_gemm_tiles", {{"peak", 100.0}, {"launch", 2.0}}, {}, "", {}});
  CHECK(with_factors(p, neutral_factors()) == p);
  Factors f = neutral_factors();
  const auto k = *factor_of(p.entries[0]);
  CHECK(factor_table()[k].name == std::string("experts"));
  f[k] = 2.0;
  const Profile q = with_factors(p, f);
  CHECK(*q.entries[0].param("peak") == 50.0);
  CHECK(*q.entries[0].param("launch") == 4.0);
  CHECK(factor_table().size() <= 10);
}

TEST_CASE("intervals leave the own group out and vote by kind of run") {
  std::vector<Residue> r;
  for (int i = 0; i < 10; ++i) r.push_back({"a", "hopper", "dense", "many", 0.5});
  r.push_back({"b", "hopper", "dense", "one", 0.1});
  r.push_back({"c", "hopper", "dense", "two", -0.2});
  r.push_back({"d", "hopper", "dense", "three", 0.3});
  r.push_back({"e", "old", "dense", "four", 0.9});
  CHECK(left_out_quantile(r, {"a", "hopper", "dense", "", 0.0}, 0.9) == doctest::Approx(0.3));
  CHECK(left_out_quantile(r, {"b", "hopper", "dense", "", 0.0}, 0.5) ==
        doctest::Approx(0.3)); // ten like rows: one vote
  CHECK(left_out_quantile(r, {"b", "hopper", "moe", "", 0.0}, 0.5) == 0.0);
  // Fewer than three other groups of its hardware: all hardware counts.
  CHECK(left_out_quantile(r, {"e", "old", "dense", "", 0.0}, 0.9) == doctest::Approx(0.5));
  CHECK(left_out_quantile(r, {"f", "old", "dense", "", 0.0}, 0.9) == doctest::Approx(0.9));
  CHECK(half_width(0.3, {1.0}, {0.4 / 1.645}) == doctest::Approx(0.5));
}

TEST_CASE("what the network column states") {
  CHECK(*stated_nic_gb_per_s("EFA 32x100G per node (p5)", 8) == doctest::Approx(50.0));
  CHECK(*stated_nic_gb_per_s("8x400G RoCE", 8) == doctest::Approx(50.0));
  CHECK(*stated_nic_gb_per_s("CX7 400 Gb/s per GPU", 8) == doctest::Approx(50.0));
  CHECK(*stated_nic_gb_per_s("NVLink 300 GB/s; inter-node 800 Gb/s per node", 8) == doctest::Approx(12.5));
  CHECK_FALSE(stated_nic_gb_per_s("", 8).has_value());
  CHECK_FALSE(stated_nic_gb_per_s("single node NVSwitch", 8).has_value());
  CHECK(*profile_gpu("H100 (HBM2e 500W)") == "h100_sxm");
  CHECK_FALSE(profile_gpu("GB200").has_value());
}
