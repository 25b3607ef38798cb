// Grouped GEMM from AIConfigurator's fused MoE forward: router, permute, two grouped GEMMs (CUTLASS) with the
// activation between them, un-permute. All parts are fitted together; the two grouped GEMMs and the rate of the
// data movement are what the profile keeps.
//
// Whole layers of that table run at 837 TFLOPS for 12 ms, faster than its dense GEMMs and without slowing down: its
// inputs spare the power limit. So the gain over the dense peak is fitted and taken out again.
//
// Blockwise fp8: TensorRT-LLM's kernel reaches 60 % of DeepGEMM, which training uses. DeepGEMM's own few grouped rows
// agree with the dense entry, so that serves, and they check it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calib/fit/recipe.h"

namespace tessella::calib {
namespace {

struct MoeRow {
  std::string series; // the same layer and batch at any EP size
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t matrices_in = 1; // 2 when gated
  std::int64_t ep = 1;
  std::int64_t batch_tokens = 0;    // of all ranks: this kernel routes them all and computes its own experts
  std::vector<std::int64_t> tokens; // per local expert
  double in_bytes = 2.0;
  double seconds = 0.0;
};

std::vector<MoeRow> read_rows(const Report& report, const std::string& dtype) {
  const Table t = report.table("aic_moe_hopper.csv.gz");
  std::vector<MoeRow> rows;
  Unique unique;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, "dtype") != dtype) continue;
    if (t.text(i, "distribution") != "balanced" || t.text(i, "tp") != "1") continue;
    const auto ms = t.maybe_positive(i, "lat_trtllm_ms");
    const std::int64_t experts = t.whole(i, "experts");
    const std::int64_t ep = t.whole(i, "ep");
    if (!ms || ep > experts) continue;
    MoeRow row;
    row.hidden = t.whole(i, "hidden");
    row.ffn = t.whole(i, "inter");
    row.matrices_in = t.text(i, "gated") == "1" ? 2 : 1;
    row.ep = ep;
    row.batch_tokens = t.whole(i, "num_tokens");
    const std::int64_t routed = row.batch_tokens * t.whole(i, "topk");
    row.tokens.assign(static_cast<std::size_t>(experts / ep), std::max<std::int64_t>(1, routed / experts));
    row.in_bytes = dtype == "bfloat16" ? 2.0 : 1.0;
    row.seconds = *ms * 1e-3;
    row.series = fmt::format("{}x{}x{}/{}/{}/{}", row.hidden, row.ffn, experts, t.text(i, "topk"), row.matrices_in,
                             row.batch_tokens);
    unique.check(t, i, fmt::format("{} ep{}", row.series, ep));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Fewer experts per rank are less work. A row that takes longer than one of the same layer and batch with more experts
// ran a badly chosen kernel (whole series do, 3 to 5 times slower).
std::int64_t drop_slower_than_more_work(std::vector<MoeRow>& rows) {
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> by_series;
  for (const MoeRow& r : rows) by_series[r.series].emplace_back(r.ep, r.seconds);
  const auto anomalous = [&](const MoeRow& r) {
    const auto& series = by_series[r.series];
    return std::any_of(series.begin(), series.end(),
                       [&](const auto& other) { return other.first < r.ep && other.second < 0.9 * r.seconds; });
  };
  return static_cast<std::int64_t>(std::erase_if(rows, anomalous));
}

double measured_seconds(const ProfileEntry& e, const MoeRow& r) {
  double routed = 0.0;
  for (const std::int64_t t : r.tokens) routed += static_cast<double>(t);
  const double hidden = static_cast<double>(r.hidden);
  const double ffn = static_cast<double>(r.ffn);
  const double batch = static_cast<double>(r.batch_tokens);
  const double in = static_cast<double>(r.matrices_in);
  ProfileEntry eager = e; // with the table's easy inputs
  for (auto& [name, value] : eager.params) {
    if (name == "peak") value *= required_param(e, "easy_inputs");
  }
  const GemmShape fc1{0, r.matrices_in * r.ffn, r.hidden, r.in_bytes, 2.0};
  const GemmShape fc2{0, r.hidden, r.ffn, r.in_bytes, 2.0};
  const double moved = routed * hidden * (2.0 + r.in_bytes)     // permute: read bf16, write the GEMM's type
                       + routed * ffn * (2.0 * in + r.in_bytes) // activation
                       + 2.0 * (routed + batch) * hidden;       // un-permute
  return required_param(e, "overhead") + batch * required_param(e, "routing") + moved / required_param(e, "stream") +
         grouped_gemm_seconds(eager, r.tokens, fc1) + grouped_gemm_seconds(eager, r.tokens, fc2);
}

ProfileEntry like_dense(const Report& report, const std::string& dtype, const std::string& source) {
  ProfileEntry e = report.entry("gemm", dtype);
  e.op = "grouped_gemm";
  e.form = "grouped_gemm_tiles";
  e.source = source;
  e.residual.reset();
  return e;
}

void fit_dtype(Report& report, const std::string& table_dtype, const std::string& dtype) {
  std::vector<MoeRow> rows = read_rows(report, table_dtype);
  if (rows.empty()) return;
  report.drop("grouped_gemm " + dtype, "slower than the same layer with more experts per rank",
              drop_slower_than_more_work(rows));
  FitProblem p;
  p.about = "grouped_gemm " + dtype;
  p.start =
      like_dense(report, dtype,
                 fmt::format("fit of aic_moe_hopper.csv ({}, balanced rows, TensorRT-LLM CUTLASS fused MoE; the rest "
                             "of the layer fitted along), peak and tile costs of gemm {}",
                             report.gpu().table_name, dtype));
  for (auto& [name, value] : p.start.params) {
    if (name == "pick") value = 0.3;
    if (name == "roof") value = 2.0;
    if (name == "hbm" && dtype != "bf16") value = report.param("grouped_gemm", "bf16", "hbm");
  }
  p.start.params.insert(p.start.params.end(),
                        {{"easy_inputs", 1.1}, {"overhead", 2e-5}, {"routing", 1e-10}, {"stream", 2e12}});
  p.free = {"roof", "pick"};
  if (dtype == "bf16") p.free.emplace_back("hbm"); // streaming whole weight matrices: nearer to the limit than dense
  p.nuisance = {"easy_inputs", "overhead", "routing", "stream"};
  for (const MoeRow& r : rows) {
    p.samples.push_back({fmt::format("{} {}", r.series, r.ep),
                         fmt::format("tokens/expert={}", bucket(static_cast<double>(r.tokens.front()))), r.seconds});
  }
  p.predict = [rows = std::move(rows)](const ProfileEntry& e, std::size_t i) { return measured_seconds(e, rows[i]); };
  report.add(fit(p));
}

void check_blockwise(Report& report) {
  struct Row {
    std::vector<std::int64_t> tokens;
    GemmShape shape;
  };
  const Table t = report.table("deepgemm_tables.csv");
  std::vector<Row> rows;
  FitProblem p;
  p.start =
      like_dense(report, "fp8_block",
                 "gemm fp8_block; the residual is on the grouped rows of deepgemm_tables.csv (H800, contiguous and "
                 "masked layouts)");
  p.start.provenance = Provenance::derived;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "H800-SXM5" || t.text(i, "kind").rfind("grouped", 0) != 0) continue;
    const std::int64_t groups = t.whole(i, "groups");
    const std::int64_t m = t.whole(i, "m_per_group");
    const Row r{std::vector<std::int64_t>(static_cast<std::size_t>(groups), m),
                {0, t.whole(i, "n"), t.whole(i, "k"), 1.0, 2.0}};
    const double flops =
        2.0 * static_cast<double>(groups * m) * static_cast<double>(r.shape.n) * static_cast<double>(r.shape.k);
    p.samples.push_back({fmt::format("{}x{}x{}x{}", groups, m, r.shape.n, r.shape.k),
                         fmt::format("tokens/expert={}", bucket(static_cast<double>(m))),
                         flops / (t.positive(i, "tflops") * 1e12)});
    rows.push_back(r);
  }
  p.predict = [rows](const ProfileEntry& e, std::size_t i) {
    return grouped_gemm_seconds(e, rows[i].tokens, rows[i].shape);
  };
  report.add(evaluate(p));
}

} // namespace

void fit_moe(Report& report) {
  fit_dtype(report, "bfloat16", "bf16");
  fit_dtype(report, "fp8", "fp8");
  check_blockwise(report);
}

} // namespace tessella::calib
