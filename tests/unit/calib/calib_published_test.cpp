// The committed profiles: the bar their GEMMs must meet, and, where the raw tables are at hand, that they are what a
// fit of those tables gives.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "calib/fit/recipe.h"
#include "calib/fit/write_profile.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

const std::string kData = "../shared/data";

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string committed(const std::string& gpu) {
  return read_file(fmt::format("calib/profiles/{}/2026-11-29-published/profile.yaml", gpu));
}

// The number behind `key: ` in the entry of that op and dtype.
double number_in(const std::string& profile, const std::string& op, const std::string& dtype, const std::string& key) {
  const std::string type = dtype.empty() ? "" : fmt::format("    dtype: {}\n", dtype);
  const std::size_t entry = profile.find(fmt::format("  - op: {}\n{}", op, type));
  REQUIRE(entry != std::string::npos);
  const std::size_t at = profile.find(fmt::format("{}: ", key), entry);
  REQUIRE(at != std::string::npos);
  return std::stod(profile.substr(at + key.size() + 2));
}

std::optional<double> as_number(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (std::string(" \n,{}:").find(c) == std::string::npos) {
      out.back() += c;
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  return out;
}

} // namespace

TEST_CASE("held-out GEMMs of Hopper: median 3 %, 95th percentile 10 %") {
  for (const char* gpu : {"h100_sxm", "h200_sxm"}) {
    const std::string profile = committed(gpu);
    for (const char* dtype : {"bf16", "fp8"}) {
      CAPTURE(gpu);
      CAPTURE(dtype);
      CHECK(number_in(profile, "gemm", dtype, "median") <= 0.03);
      CHECK(number_in(profile, "gemm", dtype, "p95") <= 0.10);
      CHECK(number_in(profile, "gemm", dtype, "rows") >= 300);
    }
  }
}

TEST_CASE("committed numbers are physical") {
  const std::string h100 = committed("h100_sxm");
  CHECK(number_in(h100, "gemm", "bf16", "hbm") < 3350.0); // GB/s: below the data sheet
  CHECK(number_in(h100, "cast_fp8", "", "bandwidth") < 3350.0);
  CHECK(number_in(h100, "gemm", "bf16", "peak") < 1070.0); // TFLOPS: 132 SMs at the highest clock
  CHECK(number_in(h100, "gemm_wgrad", "bf16", "peak") < number_in(h100, "gemm", "bf16", "peak"));
  CHECK(number_in(h100, "sustained", "", "factor") < 1.0);
  CHECK(number_in(h100, "sustained", "", "factor") > 0.7);
}

TEST_CASE("a fit of the raw tables gives the committed H100 profile") {
  if (!std::filesystem::exists(kData)) {
    MESSAGE("skipped: no raw tables at " << kData);
    return;
  }
  Report report(kData, gpu_table()[0]);
  const Profile profile = fit_profile(report, "h100_sxm/2026-11-29-published");
  CHECK(missing_entries(report).empty());
  const std::vector<std::string> now = words(profile_yaml(profile, ""));
  std::string text = committed("h100_sxm");
  const std::vector<std::string> before = words(fmt::format("#{}", text.substr(text.find('\n'))));
  REQUIRE(now.size() == before.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto a = as_number(now[i]);
    const auto b = as_number(before[i]);
    REQUIRE(a.has_value() == b.has_value());
    // Another compiler may stop a little elsewhere.
    if (a) CHECK(std::abs(*a - *b) <= 0.01 * std::abs(*b) + 1e-3);
    if (!a && i > 0) CHECK(now[i] == before[i]);
  }
}

TEST_CASE("a GPU without kernel tables is refused with what is missing") {
  for (const GpuSource& gpu : gpu_table()) {
    if (gpu.spec.name != "mi250x_gcd") continue;
    Report report(kData, gpu);
    try {
      fit_profile(report, "x");
      FAIL("no exception");
    } catch (const NotCovered& e) {
      CHECK(e.missing().size() > 40);
      CHECK(e.missing().front() == "gemm bf16");
    }
  }
}
