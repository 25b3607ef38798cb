// NCCL collectives inside a node (AIConfigurator's nccl-tests) and across nodes (SimAI's ratios by size and ranks, AWS
// logs and summary points). Bytes and links as sim/cost/collective.h defines them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct CollectiveRow {
  std::string key; // size and ranks
  std::int64_t ranks = 0;
  double bytes = 0.0; // on the busiest link
  Bandwidth link;
  double seconds = 0.0;
};

FitProblem problem(const std::string& op, const std::string& tier, const std::vector<CollectiveRow>& rows) {
  FitProblem p;
  p.about = op + " " + tier;
  p.start = {op, "", tier, "collective", {}, Provenance::published, "", {}};
  p.start.params = {{"latency", 1e-5}, {"latency_per_rank", 1e-6}, {"efficiency", 0.8}, {"half_size", 1e7}};
  for (const CollectiveRow& r : rows) {
    p.samples.push_back({r.key, fmt::format("n={} MiB={}", r.ranks, bucket(r.bytes / 1048576.0)), r.seconds});
  }
  p.predict = [rows](const ProfileEntry& e, std::size_t i) {
    return collective_seconds(e, rows[i].ranks, rows[i].bytes, rows[i].link);
  };
  return p;
}

double busbw_bytes(const std::string& op, double size, double n) {
  return size * (n - 1.0) / n * (op == "all_reduce" ? 2.0 : 1.0);
}

// One row per (ranks, size): the median over NCCL versions and repetitions.
std::vector<CollectiveRow> read_node(const Report& report, const std::string& op, Bandwidth link) {
  const Table t = report.table("aic_nccl.csv.gz");
  const std::string table_op = op == "all_to_all" ? "alltoall" : op;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> times;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().nccl_name || t.text(i, "op") != table_op) continue;
    if (t.text(i, "dtype") != "half") continue; // integers cannot use in-switch reduction, and nobody trains in them
    const double seconds = t.positive(i, "latency_us") * 1e-6;
    const std::int64_t ranks = t.whole(i, "ranks");
    const std::int64_t size = t.whole(i, "size_bytes");
    const double bytes = busbw_bytes(op, static_cast<double>(size), static_cast<double>(ranks));
    check_rate(t, i, "latency_us", bytes / seconds, 1.3 * link.bytes_per_second, "bytes/s on a link");
    times[{ranks, size}].push_back(seconds);
  }
  std::vector<CollectiveRow> rows;
  for (auto& [key, v] : times) {
    std::sort(v.begin(), v.end());
    const auto [ranks, size] = key;
    rows.push_back({fmt::format("{} {}", ranks, size), ranks,
                    busbw_bytes(op, static_cast<double>(size), static_cast<double>(ranks)), link, v[v.size() / 2]});
  }
  return rows;
}

void fit_node(Report& report, const std::string& op, Bandwidth link) {
  FitProblem p = problem(op, "node", read_node(report, op, link));
  p.start.params.insert(p.start.params.end(), {{"onset", 1e7}, {"pair_loss", 0.2}});
  p.free = {"latency", "latency_per_rank", "efficiency", "half_size", "onset", "pair_loss"};
  p.start.source =
      fmt::format("fit of aic_nccl.csv ({}, 2 to 8 ranks, 512 B to 512 MiB, median of NCCL versions), link {} GB/s",
                  report.gpu().nccl_name, link.bytes_per_second * 1e-9);
  report.add(fit(p));
}

// "4Node-32GPU(NIC)" -> 4 nodes, 32 ranks; other columns: nothing.
std::optional<std::pair<double, std::int64_t>> nodes_and_ranks(const std::string& column) {
  const std::size_t node = column.find("Node-");
  if (node == std::string::npos) return std::nullopt;
  return std::pair{std::stod(column), static_cast<std::int64_t>(std::stol(column.substr(node + 5)))};
}

// SimAI states the bus bandwidth as a share of the link, ranks all in nodes of 8 with a NIC each.
std::vector<CollectiveRow> read_simai(const Report& report, const std::string& op, Bandwidth nic) {
  const Table t = report.table("simai_busbw_ratio.csv");
  const bool all_to_all = op == "all_to_all";
  std::vector<CollectiveRow> rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "table") != (all_to_all ? "ata_ratio" : "nic_ratio")) continue;
    const auto shape = nodes_and_ranks(t.text(i, "column"));
    if (!shape) continue;
    const auto [nodes, ranks] = *shape;
    const double size = t.positive(i, "size_bytes");
    const double ratio = t.positive(i, "busbw_over_ideal");
    if (ratio > 1.0) t.fail(i, "busbw_over_ideal", "above 1");
    const Bandwidth link = all_to_all ? nic : Bandwidth{8.0 * nic.bytes_per_second};
    const double bytes = all_to_all ? size * (nodes - 1.0) / nodes : busbw_bytes(op, size, static_cast<double>(ranks));
    rows.push_back({fmt::format("{} {}", ranks, size), ranks, bytes, link, bytes / (ratio * link.bytes_per_second)});
  }
  return rows;
}

// AWS p5: 16 H100 on two nodes with 3.2 Tb/s EFA; the verbatim log, 1 MiB and more.
void add_p5_log(const Report& report, Bandwidth nic, std::vector<CollectiveRow>& rows) {
  const Table t = report.table("nccl_tests_logs.csv");
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "H100-80GB (p5)" || t.text(i, "network") != "EFA 32x100G/node (3.2 Tb/s)") continue;
    const double size = t.positive(i, "size_bytes");
    if (size < 1048576.0) continue;
    const std::int64_t ranks = t.whole(i, "ranks");
    rows.push_back({fmt::format("p5 {} {}", ranks, size),
                    ranks,
                    busbw_bytes("all_reduce", size, static_cast<double>(ranks)),
                    {8.0 * nic.bytes_per_second},
                    t.positive(i, "time_us") * 1e-6});
  }
}

void fit_fabric(Report& report, const std::string& op, Bandwidth nic) {
  std::vector<CollectiveRow> rows = read_simai(report, op, nic);
  std::string source =
      "fit of simai_busbw_ratio.csv (SimAI's production-derived ratios, hardware not stated, 16 to 1024 "
      "ranks)";
  if (op == "all_reduce") {
    add_p5_log(report, nic, rows);
    source += " and nccl_tests_logs.csv (16 H100 on EFA)";
  }
  FitProblem p = problem(op, "fabric", rows);
  p.start.source = source + fmt::format(", NIC {} GB/s per GPU", nic.bytes_per_second * 1e-9);
  p.free = {"latency_per_rank", "efficiency"};
  // The latency of a pair across nodes; the tables start at sizes that do not show it.
  for (auto& [name, value] : p.start.params) {
    if (name == "latency") value = 20e-6;
    if (name == "half_size") value = 0.0;
  }
  report.add(fit(p));
}

void add_send_recv(Report& report) {
  const double pair = report.param("all_gather", "", "latency"); // of the node tier, made first
  ProfileEntry node{"send_recv", "", "node", "collective", {}, Provenance::derived, "", {}};
  node.params = {{"latency", pair}, {"latency_per_rank", 0.0}, {"efficiency", 374.0 / 450.0}, {"half_size", 0.0}};
  node.source = "374 GB/s of 450 one way between two H100 (collectives_misc.csv, NVLink4 p2p); latency of all_gather";
  report.add(node);
  ProfileEntry fabric{"send_recv", "", "fabric", "collective", {}, Provenance::derived, "", {}};
  fabric.params = {{"latency", 15e-6}, {"latency_per_rank", 0.0}, {"efficiency", 43.7 / 50.0}, {"half_size", 1e5}};
  fabric.source =
      "43.7 GB/s of 50 rail-aligned RDMA at 4 MiB, 36.9 at 64 KiB (collectives_misc.csv, p5); latency assumed: "
      "two NCCL proxies and a NIC each";
  report.add(fabric);
}

} // namespace

void fit_collectives(Report& report) {
  const Bandwidth link = report.gpu().scale_up;
  const Bandwidth nic = report.gpu().nic;
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) fit_node(report, op, link);
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) fit_fabric(report, op, nic);
  add_send_recv(report);
}

} // namespace tessella::calib
