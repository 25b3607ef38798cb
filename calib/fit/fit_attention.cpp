// Softmax attention for training: FlashAttention-3 forward by head size and sequence (H100), and cuDNN's forward and
// backward (H200). Both GPUs have the same SMs and clocks, and the kernels are compute bound, so the rows serve both.
// AIConfigurator's inference kernels read a paged cache: they check the result, they do not shape it.
#include <fmt/format.h>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct AttentionRow {
  AttentionShape shape;
  double seconds = 0.0;
  bool deterministic = false;
};

std::string describe(const AttentionShape& s) {
  return fmt::format("b{} s{} h{}/{} d{}/{} c{} w{}", s.batch, s.seq_q, s.heads, s.kv_heads, s.qk_head_dim,
                     s.v_head_dim, s.causal ? 1 : 0, s.window);
}

std::vector<AttentionRow> read_fa3_forward(const Report& report) {
  const Table t = report.table("attention_tables.csv");
  std::vector<AttentionRow> rows;
  Unique unique;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "H100-80GB-SXM" || t.text(i, "impl") != "FA3" || t.text(i, "pass") != "fwd") continue;
    const std::int64_t d = t.whole(i, "head_dim_qk");
    const std::int64_t s = t.whole(i, "seq");
    constexpr std::int64_t kHidden = 2048; // of that benchmark; total tokens are constant too
    const std::int64_t heads = kHidden / d;
    AttentionRow r{{t.whole(i, "total_tokens") / s, s, s, heads, heads, d, t.whole(i, "head_dim_v"),
                    t.text(i, "causal") == "1", 0},
                   0.0};
    const double rate = t.positive(i, "tflops") * 1e12;
    check_rate(t, i, "tflops", rate, report.gpu().spec.bf16_peak.flops_per_second, "FLOP/s");
    unique.check(t, i, describe(r.shape));
    const double pairs = static_cast<double>(r.shape.batch * heads) * static_cast<double>(s) * static_cast<double>(s);
    r.seconds = 4.0 * pairs * static_cast<double>(d) * (r.shape.causal ? 0.5 : 1.0) / rate;
    rows.push_back(r);
  }
  return rows;
}

std::vector<AttentionRow> read_cudnn(const Report& report, const std::string& pass) {
  const Table t = report.table("cudnn_sdpa_training.csv");
  std::vector<AttentionRow> rows;
  Unique unique;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "NVIDIA H200" || t.text(i, "dtype") != "bfloat16" || t.text(i, "pass") != pass) continue;
    AttentionRow r{{t.whole(i, "batch"), t.whole(i, "q_len"), t.whole(i, "kv_len"), t.whole(i, "q_heads"),
                    t.whole(i, "kv_heads"), t.whole(i, "dim_qk"), t.whole(i, "dim_v"), t.text(i, "mask") == "causal",
                    t.text(i, "window").empty() ? 0 : t.whole(i, "window")},
                   t.positive(i, "time_ms") * 1e-3,
                   t.text(i, "deterministic_bwd") == "True"};
    unique.check(t, i, describe(r.shape));
    rows.push_back(r);
  }
  return rows;
}

double measured_seconds(const ProfileEntry& e, const AttentionRow& r) {
  double t = attention_seconds(e, r.shape);
  if (r.deterministic) t *= required_param(e, "deterministic");
  return t * (1.0 + required_param(e, "throttle") * t / (t + required_param(e, "throttle_time")));
}

FitProblem problem(const std::string& about, std::vector<AttentionRow> rows, ProfileEntry start) {
  FitProblem p;
  p.about = about;
  p.start = std::move(start);
  for (const AttentionRow& r : rows) {
    p.samples.push_back({describe(r.shape), fmt::format("d={} s={}", r.shape.qk_head_dim, r.shape.seq_q), r.seconds});
  }
  p.predict = [rows = std::move(rows)](const ProfileEntry& e, std::size_t i) { return measured_seconds(e, rows[i]); };
  return p;
}

ProfileEntry start_entry(const Report& report, const std::string& op, bool forward) {
  const GpuSpec& spec = report.gpu().spec;
  ProfileEntry e{op, "bf16", "", "attention_rate", {}, Provenance::published, "", {}};
  e.params = {{"peak", spec.bf16_peak.flops_per_second * 0.8},
              {"launch", report.param("gemm", "bf16", "launch")},
              {"hbm", report.param("gemm", "bf16", "hbm")},
              {"sms", static_cast<double>(spec.sms)},
              {"qk_matmuls", forward ? 1.0 : 3.0},
              {"v_matmuls", forward ? 1.0 : 2.0},
              {"kv_half", 200.0},
              {"dim_half", 30.0},
              // Forward: q, k, v, o once. Backward: those, dO in, dq, dk, dv out, and dq accumulated in fp32.
              {"bytes_factor", forward ? 1.0 : 3.0},
              {"deterministic", 1.2},
              {"throttle", report.measured_param("gemm", "bf16", "throttle")},
              {"throttle_time", report.measured_param("gemm", "bf16", "throttle_time")}};
  return e;
}

void fit_forward(Report& report) {
  std::vector<AttentionRow> rows = read_fa3_forward(report);
  std::vector<AttentionRow> cudnn = read_cudnn(report, "fwd");
  for (AttentionRow& r : cudnn) r.deterministic = false; // only the backward has the choice
  rows.insert(rows.end(), cudnn.begin(), cudnn.end());
  FitProblem p = problem("attention_fwd bf16", std::move(rows), start_entry(report, "attention_fwd", true));
  p.free = {"peak", "kv_half", "dim_half"};
  p.nuisance = {"throttle"};
  p.start.source = "fit of attention_tables.csv (FlashAttention-3 forward, H100; printed bar values) and "
                   "cudnn_sdpa_training.csv (cuDNN forward, H200: GQA, MLA 192/128, window 1024)";
  report.add(fit(p));
}

void fit_backward(Report& report) {
  FitProblem p = problem("attention_bwd bf16", read_cudnn(report, "bwd"), start_entry(report, "attention_bwd", false));
  p.free = {"peak", "kv_half", "dim_half"};
  p.nuisance = {"throttle", "deterministic"};
  p.start.source = "fit of cudnn_sdpa_training.csv (cuDNN backward, H200; its MLA rows are the deterministic variant, "
                   "whose extra cost is fitted and taken out)";
  report.add(fit(p));
}

} // namespace

void fit_attention(Report& report) {
  fit_forward(report);
  fit_backward(report);
}

} // namespace tessella::calib
