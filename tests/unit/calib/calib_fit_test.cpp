// A fit recovers the parameters that made its data, refuses what data cannot tell, and judges itself on rows it never
// saw.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calib/fit/least_squares.h"
#include "calib/fit/recipe.h"
#include "calib/fit/write_profile.h"
#include "sim/base/error.h"
#include "sim/base/rng.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

const ProfileEntry kTruth{
    "gemm",
    "bf16",
    "",
    "gemm_tiles",
    {{"peak", 900e12}, {"launch", 3e-6}, {"hbm", 3e12}, {"sms", 132.0}, {"k_half", 150.0}, {"tile_half", 4.0}},
    Provenance::assumed,
    "made up",
    {}};

std::vector<GemmShape> grid() {
  std::vector<GemmShape> shapes;
  for (const std::int64_t m : {512, 1024, 2048, 4096, 8192}) {
    for (const std::int64_t n : {512, 1536, 4096, 7168, 16384}) {
      for (const std::int64_t k : {256, 512, 1024, 4096, 12288}) shapes.push_back({m, n, k});
    }
  }
  return shapes;
}

// Rows made by the form itself, with multiplicative noise.
FitProblem gemm_problem(double noise) {
  const std::vector<GemmShape> shapes = grid();
  const Stream random(7, Purpose::test);
  FitProblem p;
  p.about = "gemm";
  p.start = kTruth;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const GemmShape& s = shapes[i];
    p.samples.push_back({fmt::format("{},{},{}", s.m, s.n, s.k), fmt::format("m={}", s.m),
                         gemm_seconds(kTruth, s) * std::exp(noise * random.normal(i))});
  }
  p.predict = [shapes](const ProfileEntry& e, std::size_t i) { return gemm_seconds(e, shapes[i]); };
  return p;
}

void start_from(FitProblem& p, const std::string& key, double value) {
  for (auto& [name, v] : p.start.params) {
    if (name == key) v = value;
  }
  p.free.push_back(key);
}

double error_of(const FitResult& r, const std::string& key) {
  return std::abs(*r.entry.param(key) / *kTruth.param(key) - 1.0);
}

} // namespace

TEST_CASE("known parameters are recovered from far away") {
  FitProblem p = gemm_problem(0.0);
  start_from(p, "peak", 500e12);
  start_from(p, "launch", 10e-6);
  start_from(p, "k_half", 40.0);
  const FitResult r = fit(p);
  CHECK(error_of(r, "peak") < 1e-3);
  CHECK(error_of(r, "launch") < 1e-3);
  CHECK(error_of(r, "k_half") < 1e-2);
  CHECK(*r.entry.param("sms") == 132.0); // not free: untouched
  REQUIRE(r.entry.residual);
  CHECK(r.entry.residual->p95 < 1e-3);
}

TEST_CASE("noise and outliers move the parameters little") {
  FitProblem p = gemm_problem(0.02);
  for (std::size_t i = 0; i < p.samples.size(); i += 20) p.samples[i].seconds *= 4.0; // badly chosen kernels
  start_from(p, "peak", 700e12);
  start_from(p, "launch", 5e-6);
  start_from(p, "k_half", 100.0);
  const FitResult r = fit(p);
  CHECK(error_of(r, "peak") < 0.01);
  CHECK(error_of(r, "launch") < 0.05);
  CHECK(error_of(r, "k_half") < 0.10);
  CHECK(r.entry.residual->median == doctest::Approx(0.0135).epsilon(0.6)); // of |N(0, 2 %)|
}

TEST_CASE("a nuisance parameter is fitted and not published") {
  FitProblem p = gemm_problem(0.0);
  for (Sample& s : p.samples) s.seconds += 20e-6; // a second kernel inside the timing
  const auto plain = p.predict;
  p.predict = [plain](const ProfileEntry& e, std::size_t i) { return plain(e, i) + required_param(e, "other"); };
  p.start.params.emplace_back("other", 5e-6);
  p.nuisance = {"other"};
  start_from(p, "peak", 700e12);
  const FitResult r = fit(p);
  CHECK(error_of(r, "peak") < 1e-3);
  CHECK(*r.measured.param("other") == doctest::Approx(20e-6).epsilon(0.01));
  CHECK(!r.entry.param("other").has_value());
}

TEST_CASE("an undetermined fit is refused") {
  FitProblem p = gemm_problem(0.01);
  start_from(p, "hbm", 3e15); // so fast that no row ever waits for it
  start_from(p, "peak", 900e12);
  CHECK_THROWS_WITH_AS(fit(p), doctest::Contains("do not determine `hbm`"), InputError);

  FitProblem same_k = gemm_problem(0.0);
  std::erase_if(same_k.samples, [&](const Sample& s) { return s.shape.find(",4096") == std::string::npos; });
  same_k.samples.resize(3);
  start_from(same_k, "peak", 900e12);
  start_from(same_k, "k_half", 100.0);
  CHECK_THROWS_WITH_AS(fit(same_k), doctest::Contains("cannot determine 2 parameters"), InputError);
}

TEST_CASE("hold-out is by shape, a fifth, and blind to order") {
  std::vector<Sample> samples;
  for (int i = 0; i < 500; ++i) samples.push_back({fmt::format("{}x4096", i * 64), "", 1.0});
  const std::vector<bool> out = held_out(samples);
  CHECK(std::count(out.begin(), out.end(), true) == 100);
  std::vector<Sample> doubled = samples;
  doubled.insert(doubled.end(), samples.rbegin(), samples.rend());
  const std::vector<bool> again = held_out(doubled);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(again[i] == out[i]);
    CHECK(again[doubled.size() - 1 - i] == out[i]);
  }
  CHECK(held_out({{"alone", "", 1.0}}) == std::vector<bool>{true});
  CHECK(held_out({}).empty());
}

TEST_CASE("held-out rows do not reach the parameters") {
  FitProblem p = gemm_problem(0.0);
  const std::vector<bool> out = held_out(p.samples);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]) p.samples[i].seconds *= 1.5;
  }
  start_from(p, "peak", 700e12);
  start_from(p, "launch", 5e-6);
  const FitResult r = fit(p);
  CHECK(error_of(r, "peak") < 1e-3);
  CHECK(r.entry.residual->median == doctest::Approx(1.0 / 3.0).epsilon(0.01));
}

TEST_CASE("median and percentile by nearest rank") {
  std::vector<double> errors;
  for (int i = 1; i <= 100; ++i) errors.push_back(i % 2 == 0 ? i * 0.01 : -i * 0.01);
  const Residual r = summarize(errors);
  CHECK(r.median == doctest::Approx(0.50));
  CHECK(r.p95 == doctest::Approx(0.95));
  CHECK(r.rows == 100);
  CHECK(summarize({}).rows == 0);
}

TEST_CASE("profile text has units, quotes and residuals") {
  Profile p{"test/x", {"g", 2, {1e15}, {0.0}, {3e12}, {std::int64_t{80} << 30}, "a \"sheet\""}, {}};
  p.entries.push_back({"copy",
                       "",
                       "",
                       "stream",
                       {{"launch", 2.5e-6}, {"bandwidth", 3.0769e12}},
                       Provenance::derived,
                       "b",
                       Residual{0.01, 0.05, 9}});
  p.entries.push_back({"send_recv",
                       "",
                       "node",
                       "collective",
                       {{"latency", 1e-5}, {"latency_per_rank", 0.0}, {"efficiency", 0.8}, {"half_size", 1e6}},
                       Provenance::assumed,
                       "c",
                       {}});
  CHECK(profile_yaml(p, "note") == R"(# note
profile: test/x
gpu: {name: g, sms: 2, bf16_peak: 1000 TFLOPS, hbm: 3000 GB/s, memory: 80 GiB, source: "a \"sheet\""}
entries:
  - op: copy
    form: stream
    params: {launch: 2.5 us, bandwidth: 3076.9 GB/s}
    provenance: derived
    source: "b"
    residual: {median: 0.0100, p95: 0.0500, rows: 9}
  - op: send_recv
    tier: node
    form: collective
    params: {latency: 10 us, latency_per_rank: 0 us, efficiency: 0.8, half_size: 1000 kB}
    provenance: assumed
    source: "c"
)");
}

TEST_CASE("residuals are summed up by bucket") {
  FitResult r;
  r.entry = kTruth;
  r.entry.residual = Residual{0.02, 0.03, 2};
  r.errors = {{"m=1", false, 0.01}, {"m=2", true, -0.02}, {"m=1", true, 0.03}};
  CHECK(residuals_csv({r}) == "op,dtype,tier,bucket,rows,held_out,median_error,median_abs_error,p95_abs_error\n"
                              "gemm,bf16,,held out,2,2,,0.0200,0.0300\n"
                              "gemm,bf16,,m=1,2,1,0.0100,0.0100,0.0300\n"
                              "gemm,bf16,,m=2,1,1,-0.0200,0.0200,0.0200\n");
}

TEST_CASE("a cost that others build on, and that the tables cannot tell, is named as missing") {
  const Report report("nowhere", GpuSource{});
  try {
    report.param("gemm", "bf16", "launch");
    FAIL("nothing was thrown");
  } catch (const NotCovered& e) {
    REQUIRE(e.missing().size() == 1);
    CHECK(e.missing().front().starts_with("gemm bf16, "));
  }
}
