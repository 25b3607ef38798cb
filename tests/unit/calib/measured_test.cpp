// From our own rows to a profile: what a known entry produced is found again, what one machine cannot measure comes
// from the base, other GPUs are refused or marked, and nothing is dropped in silence.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calib/measured/coverage.h"
#include "calib/measured/fit_run.h"
#include "calib/measured/reference.h"
#include "calib/measured/row_problem.h"
#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

ProfileEntry gemm(const std::string& op, double peak, double k_half) {
  return {op,
          "bf16",
          "",
          op.starts_with("grouped") ? "grouped_gemm_tiles" : "gemm_tiles",
          {{"peak", peak},
           {"launch", 3e-6},
           {"hbm", 3.8e12},
           {"sms", 132},
           {"k_half", k_half},
           {"tile_half", 3.5},
           {"pick", 0.02},
           {"roof", 3.0}},
          Provenance::published,
          "made up",
          {}};
}

ProfileEntry stream(const std::string& op, double bandwidth) {
  return {op, "", "", "stream", {{"launch", 3e-6}, {"bandwidth", bandwidth}}, Provenance::published, "made up", {}};
}

Profile base_profile() {
  Profile p;
  p.name = "h200_sxm/made-up";
  p.gpu.name = "h200_sxm";
  p.gpu.sms = 132;
  p.entries = {gemm("gemm", 9e14, 140.0), gemm("grouped_gemm", 9e14, 140.0), stream("norm_fwd", 3e12),
               stream("copy", 3e12)};
  ProfileEntry contention{"contention", "", "", "contention", {}, Provenance::published, "made up", {}};
  contention.params = {{"gemm", 1.05}, {"membound", 1.14}, {"norm", 1.65}, {"waiting", 1.08}, {"communication", 1.3}};
  p.entries.push_back(contention);
  ProfileEntry node{"all_reduce", "", "node", "collective", {}, Provenance::published, "made up", {}};
  node.params = {{"latency", 1e-5}, {"latency_per_rank", 1e-6}, {"efficiency", 0.8}, {"half_size", 1e6}};
  p.entries.push_back(node);
  ProfileEntry fabric{"all_reduce", "", "fabric", "collective", {}, Provenance::published, "made up", {}};
  fabric.params = {{"latency", 2e-5}, {"latency_per_rank", 1e-6}, {"efficiency", 0.8}, {"half_size", 0.0}};
  p.entries.push_back(fabric);
  return p;
}

RawRow row(const std::string& op, const std::string& kernel, const std::string& dtype,
           std::vector<std::pair<std::string, std::int64_t>> dims, double bytes) {
  RawRow r;
  r.shape = {op, kernel, dtype, std::move(dims), 1};
  r.work.bytes = bytes;
  return r;
}

// As a GPU with these entries would be measured.
std::vector<RawRow> rows_of(const ProfileEntry& gemm_entry, const ProfileEntry& norm_entry) {
  std::vector<RawRow> rows;
  for (const std::int64_t m : {1024, 2048, 4096, 8192})
    for (const std::int64_t k : {512, 1024, 2048, 4096, 8192})
      rows.push_back(row("gemm", "", "bf16", {{"m", m}, {"n", 4096}, {"k", k}}, 0.0));
  for (const std::int64_t n : {1024, 4096, 16384, 65536})
    for (const std::int64_t cols : {1024, 2048, 4096})
      rows.push_back(row("norm_fwd", "", "", {{"rows", n}, {"cols", cols}}, 4.0 * static_cast<double>(n * cols)));
  for (RawRow& r : rows)
    r.measurement.summary.median = predicted_seconds(r.shape.op == "gemm" ? gemm_entry : norm_entry, r, {});
  return rows;
}

RunRecord record_of(const std::string& gpu) {
  RunRecord r;
  r.device = {"cuda", gpu, "13.0", "13.0", "2.28"};
  r.date = "2026-11-30T00:00:00Z";
  return r;
}

const ProfileEntry& entry(const RunFit& fit, const std::string& op) {
  const auto it = std::find_if(fit.profile.entries.begin(), fit.profile.entries.end(),
                               [&](const ProfileEntry& e) { return e.op == op; });
  REQUIRE(it != fit.profile.entries.end());
  return *it;
}

bool dropped(const RunFit& fit, const std::string& op, std::int64_t rows) {
  return std::any_of(fit.dropped.begin(), fit.dropped.end(),
                     [&](const Dropped& d) { return d.op == op && d.rows == rows; });
}

} // namespace

TEST_CASE("What a GPU does is found again from its rows, the rest comes from the base") {
  const Profile base = base_profile();
  const auto rows = rows_of(gemm("gemm", 7e14, 260.0), stream("norm_fwd", 2.2e12));
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "h200_sxm/test", &base, false);
  CHECK(fit.profile.name == "h200_sxm/test");
  CHECK(*entry(fit, "gemm").param("peak") == doctest::Approx(7e14).epsilon(0.01));
  CHECK(*entry(fit, "gemm").param("k_half") == doctest::Approx(260.0).epsilon(0.05));
  CHECK(entry(fit, "gemm").provenance == Provenance::measured);
  CHECK(entry(fit, "gemm").source.find("2026-11-30 on NVIDIA H200") != std::string::npos);
  CHECK(*entry(fit, "norm_fwd").param("bandwidth") == doctest::Approx(2.2e12).epsilon(0.01));
  CHECK(entry(fit, "norm_fwd").residual->median < 0.01);
  CHECK(entry(fit, "copy") == base.entries[3]);             // not measured
  CHECK(fit.profile.entries.back() == base.entries.back()); // the fabric
}

TEST_CASE("Fused attention is fitted, attention with its scores in memory is not") {
  Profile base = base_profile();
  ProfileEntry attention{"attention_fwd", "bf16", "", "attention_rate", {}, Provenance::published, "made up", {}};
  attention.params = {{"peak", 9e14},   {"launch", 3e-6}, {"hbm", 3.8e12},  {"sms", 132},       {"qk_matmuls", 1},
                      {"v_matmuls", 1}, {"kv_half", 300}, {"dim_half", 56}, {"bytes_factor", 1}};
  base.entries.push_back(attention);
  attention.params[0].second = 6e14;
  std::vector<RawRow> rows;
  for (const std::int64_t seq : {1024, 2048, 4096, 8192, 16384}) {
    rows.push_back(row("attention_fwd", "cudnn", "bf16",
                       {{"batch", 1}, {"seq", seq}, {"heads", 64}, {"kv_heads", 4}, {"qk_dim", 128}, {"v_dim", 128}},
                       0.0));
    rows.back().measurement.summary.median = predicted_seconds(attention, rows.back(), {});
    rows.push_back(rows.back());
    rows.back().shape.kernel = "gemm+softmax";
    rows.back().measurement.summary.median *= 5.0;
  }
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "h200_sxm/test", &base, false);
  CHECK(*entry(fit, "attention_fwd").param("peak") == doctest::Approx(6e14).epsilon(0.02));
  CHECK(dropped(fit, "attention_fwd", 5));
}

TEST_CASE("Collectives inside a node are fitted over sizes and ranks, larger ones left out") {
  const Profile base = base_profile();
  ProfileEntry truth = base.entries[5];
  truth.params = {{"latency", 2e-5}, {"latency_per_rank", 2e-6}, {"efficiency", 0.6}, {"half_size", 3e6}};
  std::vector<RawRow> rows;
  for (const std::int64_t ranks : {2, 4, 8, 16})
    for (std::int64_t bytes = 1 << 14; bytes <= std::int64_t{1} << 30; bytes *= 4) {
      RawRow r = row("all_reduce", "nccl", "", {{"bytes", bytes}}, static_cast<double>(bytes));
      r.shape.ranks = ranks;
      r.measurement.temperature = Temperature::hot;
      r.measurement.summary.median = predicted_seconds(truth, r, {450e9});
      rows.push_back(r);
    }
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "x", &base, false);
  const ProfileEntry& e = *std::find_if(fit.profile.entries.begin(), fit.profile.entries.end(),
                                        [](const ProfileEntry& x) { return x.op == "all_reduce" && x.tier == "node"; });
  CHECK(*e.param("efficiency") == doctest::Approx(0.6).epsilon(0.02));
  CHECK(*e.param("latency_per_rank") == doctest::Approx(2e-6).epsilon(0.05));
  CHECK(e.provenance == Provenance::measured);
  CHECK(dropped(fit, "all_reduce", 9)); // of 16 ranks
}

TEST_CASE("Few shapes determine few parameters; what is left out is counted") {
  const Profile base = base_profile();
  std::vector<RawRow> rows = rows_of(gemm("gemm", 7e14, 260.0), stream("norm_fwd", 2.2e12));
  std::erase_if(rows, [](const RawRow& r) { return r.shape.op == "gemm" && r.shape.dim("m") > 1024; }); // 5 left
  rows.push_back(row("gemm", "best", "bf16", {{"m", 8192}, {"n", 8192}, {"k", 8192}}, 0.0));
  rows.push_back(row("attention_fwd", "gemm+softmax", "bf16", {{"seq", 4096}}, 0.0));
  rows.push_back(row("cast_fp8", "", "fp8", {{"rows", 4096}, {"cols", 4096}}, 5e7));
  rows.push_back(row("copy", "add", "", {{"rows", 4096}, {"cols", 4096}}, 1e8));
  rows.back().status = RowStatus::out_of_memory;
  for (RawRow& r : rows)
    if (r.measurement.summary.median <= 0.0) r.measurement.summary.median = 1e-3;
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "h200_sxm/few", &base, false);
  CHECK(entry(fit, "gemm").source.find("fitted: peak, hbm, the rest as in h200_sxm/made-up") != std::string::npos);
  CHECK(*entry(fit, "gemm").param("k_half") == doctest::Approx(140.0)); // of the base
  CHECK(dropped(fit, "gemm best", 1));
  CHECK(dropped(fit, "attention_fwd", 1));
  CHECK(dropped(fit, "cast_fp8", 1)); // the base knows no such op
  CHECK(dropped(fit, "copy", 1));
}

TEST_CASE("Contention is what the stand-in adds beyond the SMs it holds") {
  const Profile base = base_profile();
  std::vector<RawRow> rows;
  const auto add = [&](const char* kernel, std::int64_t sms, std::int64_t gbps, double seconds) {
    rows.push_back(
        row("overlap", kernel, "bf16", {{"m", 4096}, {"n", 4096}, {"k", 4096}, {"sms", sms}, {"gbps", gbps}}, 0.0));
    rows.back().measurement.summary.median = seconds;
  };
  add("norm_fwd", 0, 0, 1e-4);
  add("norm_fwd", 16, 0, 1.1e-4);
  add("norm_fwd", 16, 200, 1.5e-4);
  add("gemm", 0, 0, 2e-4);
  const GemmShape s{4096, 4096, 4096, 2.0, 2.0};
  const double fewer_sms = gemm_seconds(base.entries[0], s, 116) / gemm_seconds(base.entries[0], s);
  CHECK(fewer_sms > 1.05);
  add("gemm", 16, 200, 2e-4 * fewer_sms * 1.2);
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "h200_sxm/pairs", &base, false);
  const ContentionFactors f = contention_factors(entry(fit, "contention"));
  CHECK(f.gemm == doctest::Approx(1.2));
  CHECK(f.norm == doctest::Approx(1.5));
  CHECK(f.waiting == doctest::Approx(1.1));
  CHECK(f.membound == doctest::Approx(1.14));     // not measured
  CHECK(f.communication == doctest::Approx(1.3)); // cannot be
}

TEST_CASE("A profile of another GPU is refused, and marked when forced") {
  const Profile base = base_profile();
  const auto rows = rows_of(base.entries[0], base.entries[2]);
  CHECK(profile_gpu("NVIDIA H100 80GB HBM3") == "h100_sxm");
  CHECK(profile_gpu("NVIDIA H100 PCIe").empty());
  CHECK_THROWS_WITH_AS(fit_run(record_of("NVIDIA H200"), rows, "x", nullptr, false), doctest::Contains("--base"),
                       InputError);
  CHECK_THROWS_WITH_AS(fit_run(record_of("NVIDIA H100 80GB HBM3"), rows, "x", &base, false),
                       doctest::Contains("--force"), InputError);
  const RunFit forced = fit_run(record_of("NVIDIA H100 80GB HBM3"), rows, "x", &base, true);
  CHECK(entry(forced, "gemm").source.find("MIXED with the profile of h200_sxm") != std::string::npos);
  CHECK(forced.profile.gpu.source.find("MIXED") != std::string::npos);
  RunRecord mixed = record_of("NVIDIA H200");
  mixed.mixed_with = {"NVIDIA H800 (cuda)"};
  CHECK(entry(fit_run(mixed, rows, "x", &base, false), "gemm").source.find("MIXED with rows of NVIDIA H800") !=
        std::string::npos);
  CHECK_THROWS_AS(fit_run(record_of("NVIDIA H200"), {}, "x", &base, false), InputError);
}

TEST_CASE("Coverage says what a model's costs rest on") {
  const Profile base = base_profile();
  const auto rows = rows_of(base.entries[0], base.entries[2]);
  const RunFit fit = fit_run(record_of("NVIDIA H200"), rows, "x", &base, false);
  const std::vector<Job> jobs = {{{"gemm", "", "bf16", {}, 1}, 6.0},
                                 {{"copy", "add", "", {}, 1}, 3.0},
                                 {{"router", "topk", "", {}, 1}, 1.0},
                                 {{"memcpy", "device_to_device", "", {}, 1}, 9.0}};
  const Coverage c = coverage_of(fit.profile, jobs);
  CHECK(c.share[static_cast<std::size_t>(Provenance::measured)] == doctest::Approx(0.6));
  CHECK(c.share[static_cast<std::size_t>(Provenance::published)] == doctest::Approx(0.3));
  CHECK(c.missing == doctest::Approx(0.1));
  CHECK(c.not_measured == std::vector<std::string>{"copy: published", "router: missing"});
}

TEST_CASE("Our times are held against published ones by shape") {
  const auto path = std::filesystem::temp_directory_path() / "tessella_reference_test.csv";
  std::ofstream(path) << "op,dtype,dims,seconds,source\n"
                      << "gemm,bf16,m=1024;n=4096;k=512,1e-4,table\n"
                      << "gemm,bf16,m=1;n=1;k=1,1e-6,table\n";
  const auto reference = read_reference(path.string());
  REQUIRE(reference.size() == 2);
  RawRow ours = row("gemm", "", "bf16", {{"m", 1024}, {"n", 4096}, {"k", 512}}, 0.0);
  ours.measurement.summary.median = 1.1e-4;
  const ReferenceResult result = compare_reference(reference, {ours});
  REQUIRE(result.points.size() == 1);
  CHECK(result.median_abs == doctest::Approx(0.1));
  CHECK(result.missing == std::vector<std::string>{"gemm bf16 m=1;n=1;k=1"});
  std::ofstream(path) << "op,dtype,dims,seconds,source\ngemm,bf16,m=,1e-4,table\n";
  CHECK_THROWS_WITH_AS(read_reference(path.string()), doctest::Contains("dims"), InputError);
  std::filesystem::remove(path);
  CHECK(read_reference("calib/reference/h200_gemm.csv").size() > 20);
}
