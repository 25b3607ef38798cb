// A100 kernels from SimuMax's efficiencies (A100 PCIe 80 GB: the same die as SXM below a lower power limit). The rows
// are few: attention knows one sequence length, so what depends on the sequence is Hopper's.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

constexpr double kLaunch = 3e-6;

struct GemmRow {
  GemmShape shape;
  std::int64_t groups = 1;
  double seconds = 0.0;
};

std::vector<GemmRow> read_gemm(const Report& report, const std::string& op) {
  const Table t = report.table("simumax_op_efficiency.csv");
  std::vector<GemmRow> rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "op") != op || t.text(i, "stage") != "fwd") continue;
    GemmRow r{{t.whole(i, "m"), t.whole(i, "n"), t.whole(i, "k"), 2.0, 2.0}, 1, 0.0};
    if (op == "group_matmul") r.groups = t.whole(i, "groups");
    const double rate = t.positive(i, "eff_tflops") * 1e12;
    check_rate(t, i, "eff_tflops", rate, report.gpu().spec.bf16_peak.flops_per_second, "FLOP/s");
    r.seconds = 2.0 * static_cast<double>(r.groups) * static_cast<double>(r.shape.m) * static_cast<double>(r.shape.n) *
                static_cast<double>(r.shape.k) / rate;
    rows.push_back(r);
  }
  return rows;
}

FitProblem gemm_problem(const std::string& about, std::vector<GemmRow> rows, ProfileEntry start) {
  FitProblem p;
  p.about = about;
  p.start = std::move(start);
  for (const GemmRow& r : rows) {
    p.samples.push_back({fmt::format("{}: {},{},{}", r.groups, r.shape.m, r.shape.n, r.shape.k),
                         fmt::format("m={}", bucket(static_cast<double>(r.shape.m))), r.seconds});
  }
  p.predict = [rows = std::move(rows)](const ProfileEntry& e, std::size_t i) {
    const GemmRow& r = rows[i];
    if (r.groups == 1) return gemm_seconds(e, r.shape);
    const std::vector<std::int64_t> tokens(static_cast<std::size_t>(r.groups), r.shape.m);
    return grouped_gemm_seconds(e, tokens, r.shape);
  };
  return p;
}

void fit_gemms(Report& report) {
  const GpuSpec& spec = report.gpu().spec;
  ProfileEntry e{"gemm", "bf16", "", "gemm_tiles", {}, Provenance::derived, "", {}};
  e.params = {{"peak", 0.8 * spec.bf16_peak.flops_per_second},
              {"launch", kLaunch},
              {"hbm", 0.85 * spec.hbm.bytes_per_second},
              {"sms", static_cast<double>(spec.sms)},
              {"k_half", 150.0},
              {"tile_half", 4.0},
              {"pick", 0.0},
              {"roof", 4.0}};
  e.source = "fit of simumax_op_efficiency.csv (" + report.gpu().table_name + "); " + report.gpu().compute_note;
  FitProblem dense = gemm_problem("gemm bf16", read_gemm(report, "matmul"), e);
  dense.free = {"peak", "k_half"};
  report.add(fit(dense));
  e = report.entry("gemm", "bf16");
  e.op = "grouped_gemm";
  e.form = "grouped_gemm_tiles";
  e.source = "gemm bf16; the residual is on the four grouped rows of simumax_op_efficiency.csv";
  report.add(evaluate(gemm_problem("grouped_gemm bf16", read_gemm(report, "group_matmul"), e)));
}

// "batch=1, seq_len=4096, head_num=32, ..." -> the number behind `name=`.
std::int64_t value_of(const Table& t, std::size_t row, const std::string& name) {
  const std::string& key = t.text(row, "key");
  std::int64_t value = 0;
  const std::size_t at = key.find(name + "=");
  if (at == std::string::npos) t.fail(row, "key", fmt::format("has no {}", name));
  const char* begin = key.data() + at + name.size() + 1;
  if (std::from_chars(begin, key.data() + key.size(), value).ec != std::errc{})
    t.fail(row, "key", fmt::format("{} is not a number", name));
  return value;
}

ProfileEntry attention_start(const Report& report, bool forward) {
  const GpuSpec& spec = report.gpu().spec;
  ProfileEntry e{
      forward ? "attention_fwd" : "attention_bwd", "bf16", "", "attention_rate", {}, Provenance::derived, "", {}};
  e.params = {{"peak", 0.7 * spec.bf16_peak.flops_per_second},
              {"launch", kLaunch},
              {"hbm", 0.85 * spec.hbm.bytes_per_second},
              {"sms", static_cast<double>(spec.sms)},
              {"qk_matmuls", forward ? 1.0 : 3.0},
              {"v_matmuls", forward ? 1.0 : 2.0},
              {"kv_half", forward ? 350.0 : 660.0},
              {"dim_half", forward ? 55.0 : 39.0},
              {"bytes_factor", forward ? 1.0 : 3.0}};
  e.source = "fit of simumax_op_efficiency.csv (" + report.gpu().table_name +
             ", 4096 tokens), kv_half and dim_half of h100_sxm; " + report.gpu().compute_note;
  return e;
}

void fit_attention_pass(Report& report, bool forward) {
  const Table t = report.table("simumax_op_efficiency.csv");
  FitProblem p;
  std::vector<AttentionShape> shapes;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "op") != (forward ? "sdp_fwd" : "sdp_bwd")) continue;
    if (t.text(i, "key") == "DEFAULT") continue;
    const AttentionShape s{value_of(t, i, "batch"),
                           value_of(t, i, "seq_len"),
                           value_of(t, i, "seq_len"),
                           value_of(t, i, "head_num"),
                           value_of(t, i, "kv_head_num"),
                           value_of(t, i, "qk_head_dim"),
                           value_of(t, i, "v_head_dim"),
                           true,
                           0};
    const double seq = static_cast<double>(s.seq_q);
    // The table counts the whole square, and 2.5 times as much backward.
    const double flops = 2.0 * static_cast<double>(s.batch * s.heads * (s.qk_head_dim + s.v_head_dim)) * seq * seq *
                         (forward ? 1.0 : 2.5);
    p.samples.push_back(
        {t.text(i, "key"), fmt::format("heads={}", s.heads), flops / (t.positive(i, "eff_tflops") * 1e12)});
    shapes.push_back(s);
  }
  p.start = attention_start(report, forward);
  p.about = p.start.op + " bf16";
  p.free = {"peak"};
  p.predict = [shapes](const ProfileEntry& entry, std::size_t i) { return attention_seconds(entry, shapes[i]); };
  report.add(fit(p));
}

// SimuMax states memory-bound ops as a share of 1600 GB/s.
void add_streams(Report& report) {
  struct Stream {
    const char* op;
    double factor;
  };
  constexpr double kBase = 1600e9;
  constexpr std::array streams = {
      Stream{"copy", 0.91},       Stream{"norm_fwd", 0.91},       Stream{"norm_bwd", 0.91},
      Stream{"activation", 0.91}, Stream{"activation_bwd", 0.91}, Stream{"embedding", 0.91},
      Stream{"optimizer", 0.91},  Stream{"permute", 0.1879},      Stream{"unpermute", 0.1879},
      Stream{"router", 0.0328},   Stream{"cross_entropy", 0.808}};
  for (const Stream& s : streams) {
    const bool router = std::string(s.op) == "router";
    report.add(ProfileEntry{s.op,
                            "",
                            "",
                            "stream",
                            {{"launch", router ? 8.0 * kLaunch : kLaunch}, {"bandwidth", s.factor * kBase}},
                            router ? Provenance::assumed : Provenance::published,
                            router ? "the rate of the DeepSeek-V3 trace on H800; bytes = tokens * experts * 4"
                                   : fmt::format("{} of 1600 GB/s (simumax_op_efficiency.csv, A100 PCIe)", s.factor),
                            {}});
  }
}

} // namespace

void fit_a100(Report& report) {
  fit_gemms(report);
  fit_attention_pass(report, true);
  fit_attention_pass(report, false);
  add_streams(report);
  report.add(ProfileEntry{"sustained",
                          "",
                          "",
                          "factor",
                          {{"factor", 1.0}},
                          Provenance::assumed,
                          "the GEMM rates are those of a 300 W card already",
                          {}});
}

} // namespace tessella::calib
