#include "calib/host/host_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "calib/fit/least_squares.h"
#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

constexpr double kNoLimit = 1e18; // bytes/s, the largest a profile may name
constexpr double kTile = 64.0;    // the smallest tile of form gemm_tiles

double padded(std::int64_t x) {
  return std::ceil(static_cast<double>(x) / kTile) * kTile;
}

// Rows of one op, as a linear problem: seconds = sum of parameters times columns.
struct Problem {
  std::vector<const RawRow*> rows;
  std::vector<std::vector<double>> columns; // [row]
  std::vector<double> seconds;
  std::vector<double> weight;

  std::vector<double> solve() const { return non_negative_least_squares(columns, seconds, weight); }
};

Residual residual_of(const Problem& p, const std::vector<double>& parameters) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    double predicted = 0.0;
    for (std::size_t c = 0; c < parameters.size(); ++c) predicted += parameters[c] * p.columns[i][c];
    errors.push_back(predicted / p.seconds[i] - 1.0);
  }
  return summarize(errors);
}

double inverse(double x) {
  return x > 1.0 / kNoLimit ? 1.0 / x : kNoLimit;
}

ProfileEntry entry(const std::string& op, const std::string& form, std::vector<std::pair<std::string, double>> params,
                   std::size_t rows) {
  ProfileEntry e;
  e.op = op;
  e.form = form;
  e.params = std::move(params);
  e.provenance = Provenance::measured;
  e.source = fmt::format("measured on this machine, all ranks at once, caches cold; {} shapes", rows);
  return e;
}

// seconds = launch + bytes / bandwidth. A single size determines the rate only.
ProfileEntry fit_stream(const std::string& op, Problem p) {
  std::set<double> sizes;
  for (const RawRow* row : p.rows) sizes.insert(row->work.bytes);
  for (const RawRow* row : p.rows) p.columns.push_back({sizes.size() > 1 ? 1.0 : 0.0, row->work.bytes});
  const std::vector<double> c = p.solve();
  ProfileEntry e = entry(op, "stream", {{"launch", c[0]}, {"bandwidth", inverse(c[1])}}, p.rows.size());
  e.residual = residual_of(p, c);
  return e;
}

// seconds = launch + 2 m n (k + k_half) / peak, with m and n padded to tiles; of one "SM" whose memory never limits.
ProfileEntry tile_entry(const std::string& op, const std::string& form, const Problem& p) {
  const std::vector<double> c = p.solve();
  const double per_flop = std::max(c[1], 1e-18);
  ProfileEntry e = entry(op, form,
                         {{"peak", 1.0 / per_flop},
                          {"launch", c[0]},
                          {"hbm", kNoLimit},
                          {"sms", 1.0},
                          {"k_half", c[2] / per_flop},
                          {"tile_half", 0.0}},
                         p.rows.size());
  e.residual = residual_of(p, c);
  return e;
}

ProfileEntry fit_gemm(const std::string& op, Problem p) {
  for (const RawRow* row : p.rows) {
    const OpShape& s = row->shape;
    const double area = 2.0 * padded(s.dim("m")) * padded(s.dim("n"));
    p.columns.push_back({p.rows.size() > 2 ? 1.0 : 0.0, area * static_cast<double>(s.dim("k")), area});
  }
  return tile_entry(op, "gemm_tiles", p);
}

ProfileEntry fit_grouped(const std::string& op, Problem p) {
  for (const RawRow* row : p.rows) {
    const OpShape& s = row->shape;
    const double e = static_cast<double>(s.dim("experts"));
    double rows = 0.0; // each expert padded
    for (const std::int64_t t : expert_tokens(s)) rows += padded(t);
    const bool dgrad = op == "grouped_gemm_dgrad";
    const std::int64_t n = dgrad ? s.dim("in") : s.dim("out");
    const std::int64_t k = dgrad ? s.dim("out") : s.dim("in");
    if (op == "grouped_gemm_wgrad") {
      const double area = 2.0 * padded(s.dim("out")) * padded(s.dim("in"));
      p.columns.push_back({p.rows.size() > 2 ? 1.0 : 0.0, area * static_cast<double>(s.dim("tokens")), area * e});
    } else {
      const double area = 2.0 * rows * padded(n);
      p.columns.push_back({p.rows.size() > 2 ? 1.0 : 0.0, area * static_cast<double>(k), area});
    }
  }
  return tile_entry(op, "grouped_gemm_tiles", p);
}

// One rate over the shapes measured.
ProfileEntry fit_attention(const std::string& op, const Problem& p) {
  const bool backward = op == "attention_bwd";
  const auto with_peak = [&](double peak) {
    return entry(op, "attention_rate",
                 {{"peak", peak},
                  {"launch", 0.0},
                  {"hbm", kNoLimit},
                  {"sms", 1.0},
                  {"qk_matmuls", backward ? 3.0 : 1.0},
                  {"v_matmuls", backward ? 2.0 : 1.0},
                  {"kv_half", 0.0},
                  {"dim_half", 0.0},
                  {"bytes_factor", 1.0}},
                 p.rows.size());
  };
  const auto predicted = [&](const ProfileEntry& e, const OpShape& s) {
    AttentionShape shape;
    shape.seq_q = shape.seq_kv = s.dim("seq");
    shape.heads = s.dim("heads");
    shape.kv_heads = s.dim("kv_heads");
    shape.batch = s.dim("batch");
    shape.qk_head_dim = s.dim("qk_dim");
    shape.v_head_dim = s.dim("v_dim");
    return attention_seconds(e, shape);
  };
  constexpr double kUnit = 1e9;
  std::vector<double> rates;
  for (std::size_t i = 0; i < p.rows.size(); ++i)
    rates.push_back(kUnit * predicted(with_peak(kUnit), p.rows[i]->shape) / p.seconds[i]);
  ProfileEntry e = with_peak(median(rates));
  std::vector<double> errors;
  for (std::size_t i = 0; i < p.rows.size(); ++i) errors.push_back(predicted(e, p.rows[i]->shape) / p.seconds[i] - 1.0);
  e.residual = summarize(errors);
  return e;
}

bool is_collective(const std::string& op) {
  return op == "all_to_all" || op == "all_reduce" || op == "all_gather" || op == "reduce_scatter" || op == "send_recv";
}

// Bytes on the busiest link, as sim/cost/collective.h passes them to form `collective`.
double link_bytes(const RawRow& row) {
  const double n = static_cast<double>(row.shape.ranks);
  if (row.shape.op == "send_recv") return row.work.bytes;
  const double factor = (n - 1.0) / n;
  return row.work.bytes * (row.shape.op == "all_reduce" ? 2.0 * factor : factor);
}

struct Transfer {
  double latency = 0.0;
  double rate = 0.0;
  Residual residual;
  std::size_t rows = 0;
};

Transfer fit_transfer(Problem p) {
  std::set<double> sizes;
  for (const RawRow* row : p.rows) sizes.insert(link_bytes(*row));
  for (const RawRow* row : p.rows) p.columns.push_back({sizes.size() > 1 ? 1.0 : 0.0, link_bytes(*row)});
  const std::vector<double> c = p.solve();
  return {c[0], inverse(c[1]), residual_of(p, c), p.rows.size()};
}

ProfileEntry transfer_entry(const std::string& op, const Transfer& t, double link) {
  ProfileEntry e = entry(
      op, "collective",
      {{"latency", t.latency}, {"latency_per_rank", 0.0}, {"efficiency", t.rate / link}, {"half_size", 0.0}}, t.rows);
  e.tier = "node";
  e.residual = t.residual;
  e.source = fmt::format("measured between threads through memory, from the last arrival to the end; {} sizes", t.rows);
  return e;
}

ProfileEntry fit_kernel(const std::string& op, const Problem& p) {
  if (op.starts_with("grouped_gemm")) return fit_grouped(op, p);
  if (op.starts_with("gemm")) return fit_gemm(op, p);
  if (op.starts_with("attention")) return fit_attention(op, p);
  return fit_stream(op, p);
}

std::map<std::string, Problem> by_op(const std::vector<RawRow>& rows, const RowWeight& weight) {
  std::map<std::string, Problem> problems;
  for (const RawRow& row : rows) {
    const bool hot = row.measurement.temperature == Temperature::hot;
    if (row.status != RowStatus::ok || (hot && !is_collective(row.shape.op))) continue;
    Problem& p = problems[row.shape.op];
    p.rows.push_back(&row);
    p.seconds.push_back(row.measurement.summary.median);
    p.weight.push_back(weight ? weight(row.shape) : 1.0);
  }
  return problems;
}

GpuSpec host_spec(const Profile& profile, const std::string& cpu) {
  GpuSpec gpu;
  gpu.name = "host_core";
  gpu.sms = 1;
  gpu.bf16_peak = {1e9};
  gpu.hbm = {1e6};
  for (const ProfileEntry& e : profile.entries) {
    if (e.form == "gemm_tiles" || e.form == "grouped_gemm_tiles")
      gpu.bf16_peak = {std::max(gpu.bf16_peak.flops_per_second, *e.param("peak"))};
    if (e.form == "stream" && *e.param("bandwidth") < kNoLimit)
      gpu.hbm = {std::max(gpu.hbm.bytes_per_second, *e.param("bandwidth"))};
  }
  gpu.memory = {static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE))};
  gpu.source = fmt::format("one core of {}; peak and memory rate are the best measured, memory is the machine's", cpu);
  return gpu;
}

} // namespace

std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& a, const std::vector<double>& y,
                                               const std::vector<double>& weight) {
  TSL_CHECK(!a.empty());
  const std::size_t columns = a.front().size();
  std::vector<double> best(columns, 0.0);
  double best_error = std::numeric_limits<double>::infinity();
  for (unsigned subset = 1; subset < (1U << columns); ++subset) {
    std::vector<std::size_t> used;
    for (std::size_t c = 0; c < columns; ++c)
      if ((subset >> c & 1U) != 0) used.push_back(c);
    Eigen::MatrixXd m(static_cast<Eigen::Index>(a.size()), static_cast<Eigen::Index>(used.size()));
    Eigen::VectorXd rhs(static_cast<Eigen::Index>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double w = std::sqrt(weight[i]);
      for (std::size_t c = 0; c < used.size(); ++c)
        m(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(c)) = w * a[i][used[c]];
      rhs(static_cast<Eigen::Index>(i)) = w * y[i];
    }
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(m);
    if (qr.rank() < m.cols()) continue; // more parameters than the rows can tell apart
    const Eigen::VectorXd c = qr.solve(rhs);
    const double error = (m * c - rhs).squaredNorm();
    if ((c.array() < 0.0).any() || error >= best_error * (1.0 - 1e-9)) continue;
    best_error = error;
    std::fill(best.begin(), best.end(), 0.0);
    for (std::size_t i = 0; i < used.size(); ++i) best[used[i]] = c(static_cast<Eigen::Index>(i));
  }
  return best;
}

HostFit fit_host(const std::vector<RawRow>& rows, const std::string& name, const std::string& cpu,
                 const RowWeight& weight) {
  HostFit fit;
  fit.profile.name = name;
  std::map<std::string, Transfer> transfers;
  for (const auto& [op, problem] : by_op(rows, weight)) {
    if (is_collective(op))
      transfers[op] = fit_transfer(problem);
    else
      fit.profile.entries.push_back(fit_kernel(op, problem));
  }
  if (fit.profile.entries.empty()) throw InputError(name, "no kernel was measured successfully");
  for (const auto& [op, t] : transfers)
    fit.link = {std::max(fit.link.bytes_per_second, std::min(t.rate, kNoLimit / 2.0))};
  for (const auto& [op, t] : transfers) fit.profile.entries.push_back(transfer_entry(op, t, fit.link.bytes_per_second));
  fit.profile.gpu = host_spec(fit.profile, cpu);
  return fit;
}

Cluster host_cluster(const HostFit& fit, int ranks) {
  Cluster c;
  c.name = "host";
  c.gpu = fit.profile.gpu.name;
  c.nodes = 1;
  c.node.gpus = ranks;
  const std::string source = "the fastest rate measured between threads; latencies are in the profile's collectives";
  c.node.scale_up = {fit.link.bytes_per_second > 0.0 ? fit.link : Bandwidth{1e9}, Duration{1000}, source};
  c.source = "the machine that tessella-calib runs on";
  c.fabric.source = c.source;
  return c;
}

} // namespace tessella::calib
