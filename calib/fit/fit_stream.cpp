// Memory-bound ops: casts and reductions (AIConfigurator, H100 and H200), norms (cuDNN, H200), the short convolution
// of gated delta nets. Bytes are what the op must read and write, each once.
#include <fmt/format.h>

#include <optional>

#include "calib/fit/recipe.h"

namespace tessella::calib {
namespace {

constexpr double kCacheBytes = 64e6; // smaller working sets live in the 50 MB L2 and say nothing about HBM

struct Rows {
  std::vector<Sample> samples;
  std::vector<double> bytes;
  std::int64_t cached = 0;
};

// Without `launch`, it is fitted too.
FitResult fit_rows(const Report& report, const std::string& op, Rows rows, const std::string& source,
                   std::optional<double> launch = std::nullopt) {
  FitProblem p;
  p.about = op;
  p.start = {op,
             "",
             "",
             "stream",
             {{"launch", launch.value_or(5e-6)}, {"bandwidth", 0.7 * report.gpu().spec.hbm.bytes_per_second}},
             Provenance::published,
             source,
             {}};
  p.free = {"bandwidth"};
  if (!launch) p.free.emplace_back("launch");
  p.samples = std::move(rows.samples);
  p.predict = [bytes = std::move(rows.bytes)](const ProfileEntry& e, std::size_t i) {
    return stream_seconds(e, bytes[i]);
  };
  return fit(p);
}

void fit_elementwise(Report& report, const std::string& op, const std::string& table_op) {
  const Table t = report.table("aic_membound_hopper.csv");
  Rows rows;
  Unique unique;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "op") != table_op) continue;
    if (t.text(i, "framework") != "trtllm 1.3.0rc20") continue;
    const double bytes = t.positive(i, "bytes");
    const double seconds = t.positive(i, "latency_ms") * 1e-3;
    const std::string shape = fmt::format("{}x{}", t.whole(i, "m"), t.whole(i, "k"));
    unique.check(t, i, shape);
    if (bytes < kCacheBytes) {
      ++rows.cached;
      continue;
    }
    check_rate(t, i, "latency_ms", bytes / seconds, report.gpu().spec.hbm.bytes_per_second, "bytes/s");
    rows.samples.push_back({shape, fmt::format("MB={}", bucket(bytes * 1e-6)), seconds});
    rows.bytes.push_back(bytes);
  }
  report.drop(op, "working set in the L2 cache", rows.cached);
  report.add(fit_rows(report, op, std::move(rows),
                      fmt::format("fit of aic_membound_hopper.csv ({}, {}, TensorRT-LLM), 64 MB and more",
                                  report.gpu().table_name, table_op)));
}

// H100 has no norm table: the H200 rate in proportion to the memory.
void fit_norm(Report& report, const std::string& pass) {
  const Table t = report.table("cudnn_norms.csv");
  Rows rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "NVIDIA H200" || t.text(i, "backend") != "cudnn") continue;
    if (t.text(i, "norm") != "rms_norm") continue;
    const double seconds = t.positive(i, pass + "_ms") * 1e-3;
    const std::string shape = fmt::format("{}x{}", t.whole(i, "rows_N"), t.whole(i, "cols_C"));
    const double elements = t.positive(i, "rows_N") * t.positive(i, "cols_C");
    const double bytes = 2.0 * elements * (pass == "fwd" ? 2.0 : 3.0); // x, y; backward x, dy, dx
    rows.samples.push_back({shape, fmt::format("MB={}", bucket(bytes * 1e-6)), seconds});
    rows.bytes.push_back(bytes);
  }
  const std::string op = "norm_" + pass;
  FitResult result = fit_rows(report, op, std::move(rows),
                              "fit of cudnn_norms.csv (cuDNN RMSNorm, H200); bytes = 2 passes forward, 3 backward");
  if (report.gpu().spec.name != "h200_sxm") {
    constexpr double kH200 = 4.8e12;
    for (auto& [name, value] : result.entry.params) {
      if (name == "bandwidth") value *= report.gpu().spec.hbm.bytes_per_second / kH200;
    }
    result.entry.provenance = Provenance::derived;
    result.entry.source += ", bandwidth times the ratio of the HBM peaks";
  }
  report.add(std::move(result));
}

void fit_convolution(Report& report) {
  const Table t = report.table("aic_gdn_kda_mamba_hopper.csv.gz");
  Rows rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "kernel") != "causal_conv1d_fn") continue;
    if (t.text(i, "op") != "gdn" || t.text(i, "framework") != "SGLang 0.5.14") continue;
    const double tokens = t.positive(i, "num_tokens");
    const double channels =
        2.0 * t.positive(i, "k_heads") * t.positive(i, "k_dim") + t.positive(i, "v_heads") * t.positive(i, "v_dim");
    const double bytes = 2.0 * 2.0 * tokens * channels;
    if (bytes < kCacheBytes) {
      ++rows.cached;
      continue;
    }
    rows.samples.push_back({fmt::format("{}x{}", tokens, channels), fmt::format("MB={}", bucket(bytes * 1e-6)),
                            t.positive(i, "latency_ms") * 1e-3});
    rows.bytes.push_back(bytes);
  }
  report.drop("conv1d_fwd", "working set in the L2 cache", rows.cached);
  report.add(fit_rows(report, "conv1d_fwd", std::move(rows),
                      fmt::format("fit of aic_gdn_kda_mamba_hopper.csv (causal_conv1d of gated delta nets, {}, SGLang)",
                                  report.gpu().table_name),
                      report.param("gemm", "bf16", "launch")));
}

} // namespace

void fit_stream(Report& report) {
  fit_elementwise(report, "cast_fp8", "scale+cast bf16->fp8 (read 2B, write 1B)");
  fit_elementwise(report, "amax", "amax reduction (read bf16)");
  fit_norm(report, "fwd");
  fit_norm(report, "bwd");
  fit_convolution(report);
}

} // namespace tessella::calib
