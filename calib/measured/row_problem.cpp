#include "calib/measured/row_problem.h"

#include <fmt/format.h>

#include "calib/fit/recipe.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

double in_bytes(const OpShape& s) {
  return s.dtype == "fp8" ? 1.0 : 2.0;
}

bool is_wgrad(const OpShape& s) {
  return s.op.ends_with("_wgrad");
}

double grouped_seconds(const ProfileEntry& e, const OpShape& s) {
  const std::vector<std::int64_t> tokens = expert_tokens(s);
  const std::int64_t in = s.dim("in");
  const std::int64_t out = s.dim("out");
  if (is_wgrad(s)) return grouped_wgrad_seconds(e, tokens, {out, in, 0, in_bytes(s), 8.0});
  if (s.op.ends_with("_dgrad")) return grouped_gemm_seconds(e, tokens, {0, in, out, in_bytes(s), 2.0});
  return grouped_gemm_seconds(e, tokens, {0, out, in, in_bytes(s), 2.0});
}

double softmax_seconds(const ProfileEntry& e, const OpShape& s) {
  AttentionShape shape;
  shape.batch = s.dim("batch");
  shape.seq_q = shape.seq_kv = s.dim("seq");
  shape.heads = s.dim("heads");
  shape.kv_heads = s.dim("kv_heads");
  shape.qk_head_dim = s.dim("qk_dim");
  shape.v_head_dim = s.dim("v_dim");
  return attention_seconds(e, shape);
}

// As sim/cost/collective.h counts: what the busiest link of a rank carries.
double link_bytes(const RawRow& row) {
  const double n = static_cast<double>(row.shape.ranks);
  if (row.shape.op == "send_recv") return row.work.bytes;
  return row.work.bytes * (n - 1.0) / n * (row.shape.op == "all_reduce" ? 2.0 : 1.0);
}

// Rows of the residual table.
std::string bucket_of(const RawRow& row) {
  const OpShape& s = row.shape;
  if (s.ranks > 1) return fmt::format("n={} MiB={}", s.ranks, bucket(row.work.bytes / 1048576.0));
  if (s.op.starts_with("grouped")) return fmt::format("experts={} skew={}", s.dim("experts"), s.dim("skew"));
  if (s.op.starts_with("gemm")) return fmt::format("m={}", bucket(static_cast<double>(s.dim("m"))));
  return fmt::format("{}MB={}", s.kernel.empty() ? "" : s.kernel + " ", bucket(row.work.bytes * 1e-6));
}

} // namespace

double predicted_seconds(const ProfileEntry& e, const RawRow& row, Bandwidth link) {
  const OpShape& s = row.shape;
  if (e.form == "collective") return collective_seconds(e, s.ranks, link_bytes(row), link);
  if (e.form == "stream") return stream_seconds(e, row.work.bytes);
  if (e.form == "attention_rate") return softmax_seconds(e, s);
  if (e.form == "grouped_gemm_tiles") return grouped_seconds(e, s);
  return gemm_seconds(e, {s.dim("m"), s.dim("n"), s.dim("k"), in_bytes(s), is_wgrad(s) ? 8.0 : 2.0});
}

FitProblem row_problem(const std::vector<const RawRow*>& rows, const ProfileEntry& start, Bandwidth link) {
  FitProblem p;
  p.about = start.op + (start.dtype.empty() ? "" : " " + start.dtype);
  p.start = start;
  for (const RawRow* row : rows)
    p.samples.push_back({row->shape.text(), bucket_of(*row), row->measurement.summary.median});
  p.predict = [rows, link](const ProfileEntry& e, std::size_t i) { return predicted_seconds(e, *rows[i], link); };
  return p;
}

} // namespace tessella::calib
