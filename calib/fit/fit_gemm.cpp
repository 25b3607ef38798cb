// Dense GEMM from NVIDIA AIConfigurator's grid (forward layout; bf16, fp8 per tensor, fp8 blockwise).
//
// The fp8 rows quantise the activations inside the timing, and long kernels run into the power limit: both are fitted
// along and taken out again, the first because training casts are an op of their own, the second because it is what
// the entry `sustained` states.
#include <fmt/format.h>

#include <cmath>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

constexpr double kMaxSpread = 1.3; // slowest / fastest framework beyond which a row says more about them than the GPU
constexpr std::int64_t kMinRows = 512; // fewer are decoding, not training

struct GemmRow {
  GemmShape shape;
  double seconds = 0.0;
};

struct GemmRows {
  std::vector<GemmRow> aligned; // m a multiple of the smallest tile: training shapes
  std::vector<GemmRow> edge;    // one row over a tile boundary
  std::int64_t spread = 0;
  std::int64_t missing = 0;
  std::int64_t small = 0;
};

double flops(const GemmShape& s) {
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

// bf16: the median of three frameworks that run the same library. fp8: TensorRT-LLM's, because the others spend up to
// three times as long in their own quantisation kernels; rows where even the median disagrees are dropped.
std::optional<double> target(const Table& t, std::size_t row, bool bf16, GemmRows& rows) {
  const auto median = t.maybe_positive(row, "lat_median_ms");
  const auto trtllm = t.maybe_positive(row, "lat_trtllm_ms");
  if (!median || (!bf16 && !trtllm)) {
    ++rows.missing;
    return std::nullopt;
  }
  const double spread = bf16 ? t.positive(row, "spread_max_over_min") : std::max(*trtllm / *median, *median / *trtllm);
  if (spread > kMaxSpread) {
    ++rows.spread;
    return std::nullopt;
  }
  return (bf16 ? *median : *trtllm) * 1e-3;
}

GemmRows read_rows(const Report& report, const std::string& dtype) {
  const Table t = report.table("aic_gemm_hopper.csv.gz");
  const bool bf16 = dtype == "bfloat16";
  const double peak = (bf16 ? report.gpu().spec.bf16_peak : report.gpu().spec.fp8_peak).flops_per_second;
  GemmRows rows;
  Unique unique;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "dtype") != dtype) continue;
    GemmRow row{{t.whole(i, "m"), t.whole(i, "n"), t.whole(i, "k"), bf16 ? 2.0 : 1.0, 2.0}, 0.0};
    unique.check(t, i, fmt::format("{}x{}x{}", row.shape.m, row.shape.n, row.shape.k));
    if (row.shape.m < kMinRows) {
      ++rows.small;
      continue;
    }
    const auto seconds = target(t, i, bf16, rows);
    if (!seconds) continue;
    row.seconds = *seconds;
    check_rate(t, i, "lat_median_ms", flops(row.shape) / row.seconds, peak, "FLOP/s");
    (row.shape.m % 64 == 0 ? rows.aligned : rows.edge).push_back(row);
  }
  return rows;
}

// The timing of the table: the kernel, slowed by the power limit once it runs long, after the quantisation if any.
double measured_seconds(const ProfileEntry& e, const GemmShape& s) {
  double t = gemm_seconds(e, s);
  t *= 1.0 + required_param(e, "throttle") * t / (t + required_param(e, "throttle_time"));
  if (const auto rate = e.param("cast_rate")) {
    t += required_param(e, "cast_launch") + static_cast<double>(s.m) * static_cast<double>(s.k) / *rate;
  }
  return t;
}

FitProblem problem(std::vector<GemmRow> rows, ProfileEntry start) {
  FitProblem p;
  p.about = fmt::format("gemm {}", start.dtype);
  p.start = std::move(start);
  for (const GemmRow& r : rows) {
    p.samples.push_back({fmt::format("{},{},{}", r.shape.m, r.shape.n, r.shape.k),
                         fmt::format("m={}", bucket(static_cast<double>(r.shape.m))), r.seconds});
  }
  p.predict = [rows = std::move(rows)](const ProfileEntry& e, std::size_t i) {
    return measured_seconds(e, rows[i].shape);
  };
  return p;
}

ProfileEntry start_entry(const Report& report, const std::string& dtype) {
  const bool bf16 = dtype == "bf16";
  const GpuSpec& spec = report.gpu().spec;
  ProfileEntry e{"gemm", dtype, "", "gemm_tiles", {}, Provenance::published, "", {}};
  e.params = {{"peak", (bf16 ? spec.bf16_peak : spec.fp8_peak).flops_per_second * 0.9},
              {"launch", bf16 ? 3e-6 : report.param("gemm", "bf16", "launch")},
              {"hbm", bf16 ? 0.85 * spec.hbm.bytes_per_second : report.param("gemm", "bf16", "hbm")},
              {"sms", static_cast<double>(spec.sms)},
              {"k_half", 150.0},
              {"tile_half", 4.0},
              {"pick", bf16 ? 0.05 : 0.0}, // fp8 has one library kernel per tile: no default to fall back on
              {"roof", 4.0},
              {"throttle", 0.2},
              {"throttle_time", bf16 ? 1.5e-3 : report.measured_param("gemm", "bf16", "throttle_time")}};
  if (!bf16) {
    e.params.emplace_back("cast_rate", 4e11);
    e.params.emplace_back("cast_launch", 6e-6);
  }
  return e;
}

void fit_dtype(Report& report, const std::string& table_dtype, const std::string& dtype) {
  GemmRows rows = read_rows(report, table_dtype);
  if (rows.aligned.empty()) return;
  FitProblem p = problem(std::move(rows.aligned), start_entry(report, dtype));
  p.free = {"peak", "k_half", "tile_half", "roof"}; // fp8 shares launch and HBM rate with bf16
  p.nuisance = {"throttle"};
  if (dtype == "bf16") {
    p.free.emplace_back("launch");
    p.free.emplace_back("hbm");
    p.free.emplace_back("pick");
  } else {
    p.nuisance.emplace_back("cast_rate");
    p.nuisance.emplace_back("cast_launch");
  }
  if (dtype != "fp8") p.nuisance.emplace_back("throttle_time");
  FitResult result = fit(p);
  FitProblem edge = problem(std::move(rows.edge), result.measured);
  FitResult at_edge = evaluate(edge);
  const Residual r = *at_edge.entry.residual;
  result.entry.source = fmt::format(
      "fit of aic_gemm_hopper.csv ({}; NVIDIA AIConfigurator; TensorRT-LLM 1.3.0rc20, SGLang 0.5.14, vLLM 0.24.0), "
      "m >= 512 a multiple of 64; one row over a tile boundary: median {:.3f}, p95 {:.3f}",
      report.gpu().table_name, r.median, r.p95);
  for (BucketError& e : at_edge.errors) {
    e.bucket = "edge " + e.bucket;
    result.errors.push_back(e);
  }
  report.drop("gemm " + dtype, "frameworks differ by more than 1.3", rows.spread);
  report.drop("gemm " + dtype, "no time in the table", rows.missing);
  report.drop("gemm " + dtype, "fewer than 512 rows: decoding", rows.small);
  report.add(std::move(result));
}

// Long kernels of the same grid run at 1 / (1 + throttle) of the burst rate: the power limit.
void add_sustained(Report& report, const std::string& dtype) {
  for (const FitResult& r : report.results()) {
    if (r.entry.op != "gemm" || r.entry.dtype != (dtype.empty() ? "bf16" : dtype)) continue;
    const double factor = 1.0 / (1.0 + required_param(r.measured, "throttle"));
    ProfileEntry e{"sustained", dtype, "", "factor", {{"factor", factor}}, Provenance::derived, "", {}};
    e.source =
        fmt::format("rate of GEMMs that run much longer than {:.1f} ms over the rate of short ones, fitted along "
                    "with gemm {}: the power limit; for tensor-core bound kernels",
                    1e3 * required_param(r.measured, "throttle_time"), r.entry.dtype);
    report.add(e);
    return;
  }
}

} // namespace

void fit_gemm(Report& report) {
  fit_dtype(report, "bfloat16", "bf16");
  fit_dtype(report, "fp8", "fp8");
  fit_dtype(report, "fp8_block", "fp8_block");
  add_sustained(report, "");
  add_sustained(report, "fp8");
}

} // namespace tessella::calib
