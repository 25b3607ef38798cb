// Expert all-to-all kernels: DeepEP by token count inside a node and on 2 and 4 nodes, published rates of DeepEP and
// HybridEP on up to 8 nodes. Bytes are those of the busiest leg as sim/cost/wire.h counts them: one copy of a token per
// remote node over the NIC, one per rank over NVLink.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

constexpr double kGpusPerNode = 8.0;
constexpr double kFp8Row = 1.0 + 4.0 / 128.0; // bytes per element with block scales
constexpr double kBf16Row = 2.0;

struct Case {
  double nodes = 1.0;
  double tokens = 0.0;
  double hidden = 0.0;
  double topk = 0.0;
  double experts = 0.0;
};

// Expected number of `parts` equal parts of the experts that hold one of a token's k experts.
double distinct_parts(const Case& c, double parts) {
  double none = 1.0;
  for (double i = 0.0; i < c.topk; i += 1.0) none *= std::max(0.0, c.experts - i - c.experts / parts) / (c.experts - i);
  return parts * (1.0 - none);
}

// DeepEP's benchmark lets a token visit at most four nodes.
double visited_nodes(const Case& c, double limit) {
  return std::min(distinct_parts(c, c.nodes), limit);
}

double leg_bytes(const Case& c, double bytes_per_element, double node_limit) {
  const double row = c.tokens * c.hidden * bytes_per_element;
  if (c.nodes > 1.0) return row * visited_nodes(c, node_limit) * (1.0 - 1.0 / c.nodes);
  return row * distinct_parts(c, kGpusPerNode) * (1.0 - 1.0 / kGpusPerNode);
}

struct Row {
  Case what;
  double bytes = 0.0;
  double seconds = 0.0;
};

FitProblem problem(const std::string& op, const std::string& tier, std::vector<Row> rows, Bandwidth link, double sms) {
  FitProblem p;
  p.about = op + " " + tier;
  p.start = {op, "", tier, "collective", {}, Provenance::published, "", {}};
  p.start.params = {
      {"latency", 5e-5}, {"latency_per_rank", 0.0}, {"efficiency", 0.7}, {"half_size", 0.0}, {"sms", sms}};
  for (const Row& r : rows) {
    p.samples.push_back(
        {fmt::format("n{} h{} k{} e{} t{}", r.what.nodes, r.what.hidden, r.what.topk, r.what.experts, r.what.tokens),
         fmt::format("nodes={} tokens={}", r.what.nodes, bucket(r.what.tokens)), r.seconds});
  }
  p.predict = [rows = std::move(rows), link](const ProfileEntry& e, std::size_t i) {
    const auto ranks = static_cast<std::int64_t>(kGpusPerNode * rows[i].what.nodes);
    return collective_seconds(e, ranks, rows[i].bytes, link);
  };
  return p;
}

constexpr double kMinTokens = 256.0; // per rank; fewer are decoding

// AIConfigurator's DeepEP runs with 20 SMs, the default of Megatron-Core. Rows of 8 nodes are suspect and left out. On
// 2 nodes the NICs wait for the copies inside the node, a leg of its own in the model, so those rows only check.
std::vector<Row> read_deepep(Report& report, bool combine, bool one_node) {
  const Table t = report.table("aic_deepep_normal.csv.gz");
  const std::string side = combine ? "combine" : "dispatch";
  std::vector<Row> rows;
  std::int64_t suspect = 0;
  std::int64_t few = 0;
  std::int64_t two_nodes = 0;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != report.gpu().table_name || t.text(i, side + "_sms") != "20") continue;
    const double nodes = t.positive(i, "nodes");
    if ((nodes == 1.0) != one_node) continue;
    if (one_node && t.text(i, "quality") != "collected, single node") continue;
    if (t.text(i, "quality").find("SUSPECT") != std::string::npos) {
      ++suspect;
      continue;
    }
    const Case c{nodes, t.positive(i, "tokens_per_rank"), t.positive(i, "hidden"), t.positive(i, "topk"),
                 t.positive(i, "experts")};
    if (c.tokens < kMinTokens) {
      ++few;
      continue;
    }
    if (nodes == 2.0) {
      ++two_nodes;
      continue;
    }
    const double us = t.positive(i, side + "_us") + t.number(i, side + "_notify_us");
    rows.push_back({c, leg_bytes(c, combine ? kBf16Row : kFp8Row, 4.0), us * 1e-6});
  }
  const std::string op = side + "_deepep " + (one_node ? "node" : "fabric");
  report.drop(op, "fewer than 256 tokens per rank: decoding", few);
  report.drop(op, "2 nodes: limited by the copies inside the node", two_nodes);
  report.drop(op, "8-node rows, about 2.7 times slower than DeepEP's own table", suspect);
  return rows;
}

// Published rates count a copy for the sender's own node too ("logical").
std::vector<Row> read_rates(const Report& report, const std::string& gpu, const std::string& impl, bool combine,
                            double node_limit) {
  const Table t = report.table("ep_alltoall_tables.csv");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != gpu || t.text(i, "impl") != impl || t.text(i, "mode") != "normal") continue;
    if (impl == "HybridEP" &&
        (t.text(i, "sms") != "16" || t.text(i, "bw_definition").find("torch") == std::string::npos))
      continue;
    const double nodes = t.positive(i, "ep") / kGpusPerNode;
    if (nodes <= 1.0) continue;
    const Case c{nodes, t.positive(i, "tokens_per_rank"), t.positive(i, "hidden"), t.positive(i, "topk"),
                 t.positive(i, "experts")};
    const double element = combine || t.text(i, "dispatch_dtype") == "bf16" ? kBf16Row : kFp8Row;
    const double rate = t.positive(i, combine ? "combine_GBps" : "dispatch_GBps") * 1e9;
    const double logical = c.tokens * c.hidden * element * visited_nodes(c, node_limit);
    rows.push_back({c, leg_bytes(c, element, node_limit), logical / rate});
  }
  return rows;
}

void fit_deepep(Report& report, bool combine, bool one_node) {
  const std::string op = combine ? "combine_deepep" : "dispatch_deepep";
  const Bandwidth link = one_node ? report.gpu().scale_up : report.gpu().nic;
  std::vector<Row> rows = read_deepep(report, combine, one_node);
  if (!one_node) {
    for (Row& r : read_rates(report, "H100", "DeepEP v1 NVSHMEM", combine, 4.0)) {
      if (r.what.nodes > 2.0) rows.push_back(r);
    }
  }
  FitProblem p = problem(op, one_node ? "node" : "fabric", std::move(rows), link, 20.0);
  p.free = {"latency", "efficiency"};
  p.start.source =
      one_node
          ? "fit of aic_deepep_normal.csv (DeepEP v1 normal mode, 20 SMs, 8 GPUs, 16 MoE shapes)"
          : "fit of aic_deepep_normal.csv (DeepEP v1 normal mode, 20 SMs, 4 nodes, DeepSeek-V3 shape; the table does "
            "not tell H100 from H200) and ep_alltoall_tables.csv (DeepEP on H100, EP32 and EP64)";
  report.add(fit(p));
}

double median_efficiency(const std::vector<Row>& rows, double latency, Bandwidth link) {
  std::vector<double> e;
  for (const Row& r : rows) e.push_back(r.bytes / ((r.seconds - latency) * link.bytes_per_second));
  std::sort(e.begin(), e.end());
  return e[e.size() / 2];
}

// One token count only, so the fixed cost is DeepEP's.
void add_hybridep(Report& report, bool combine) {
  const std::string op = combine ? "combine_hybridep" : "dispatch_hybridep";
  const std::string other = combine ? "combine_deepep" : "dispatch_deepep";
  std::vector<Row> rows = read_rates(report, "H100", "HybridEP", combine, kGpusPerNode);
  const Bandwidth nic = report.gpu().nic;
  double latency = 0.0;
  for (const FitResult& r : report.results()) {
    if (r.entry.op != other) continue;
    if (r.entry.tier == "fabric") latency = required_param(r.entry, "latency");
    if (r.entry.tier != "node") continue;
    ProfileEntry node = r.entry;
    node.op = op;
    node.provenance = Provenance::derived;
    node.residual.reset();
    node.source = "as " + other + " inside a node: no HybridEP table of a single Hopper node";
    for (auto& [name, value] : node.params) {
      if (name == "sms") value = 16.0;
    }
    report.add(node);
    break;
  }
  for (const FitResult& r : report.results()) {
    if (r.entry.op == other && r.entry.tier == "fabric") latency = required_param(r.entry, "latency");
  }
  const double efficiency = median_efficiency(rows, latency, nic);
  FitProblem p = problem(op, "fabric", std::move(rows), nic, 16.0);
  for (auto& [name, value] : p.start.params) {
    if (name == "latency") value = latency;
    if (name == "efficiency") value = efficiency;
  }
  p.start.source =
      "median of ep_alltoall_tables.csv (HybridEP, H100, EP16 to EP64, 16 SMs, torch API), latency of " + other;
  report.add(evaluate(p));
}

// H800 has its own published rates, on NVLink at 200 GB/s.
void add_h800_deepep(Report& report, bool combine) {
  const std::string op = combine ? "combine_deepep" : "dispatch_deepep";
  std::vector<Row> rows = read_rates(report, "H800", "DeepEP v1", combine, 4.0);
  const double latency = 5e-5;
  const Bandwidth nic = report.gpu().nic;
  const double efficiency = median_efficiency(rows, latency, nic);
  FitProblem p = problem(op, "fabric", std::move(rows), nic, 24.0);
  for (auto& [name, value] : p.start.params) {
    if (name == "latency") value = latency;
    if (name == "efficiency") value = efficiency;
  }
  p.start.source = "median of ep_alltoall_tables.csv (DeepEP v1 on H800, EP16 to EP64, 24 SMs)";
  report.add_own(evaluate(p));
  const double rate = combine ? 158.0 : 153.0; // GB/s, copies on the own GPU included
  ProfileEntry node{op, "", "node", "collective", {}, Provenance::published, "", {}};
  node.params = {{"latency", latency},
                 {"latency_per_rank", 0.0},
                 {"efficiency", rate / 200.0 * (1.0 - 1.0 / kGpusPerNode)},
                 {"half_size", 0.0},
                 {"sms", 24.0}};
  node.source = fmt::format("{} GB/s of DeepEP v1 at EP8 on H800 (ep_alltoall_tables.csv), NVLink 200 GB/s", rate);
  report.add_own({node, node, {}, true});
}

} // namespace

// NCCL dispatchers exchange counts first, and the host waits for them before it knows the split sizes.
void add_nccl_dispatchers(Report& report) {
  const double host = report.param("host_op", "", "seconds");
  const auto results = report.results(); // a copy: entries are added below
  for (const FitResult& r : results) {
    const bool all_to_all = r.entry.op == "all_to_all";
    const bool gather = r.entry.op == "all_gather";
    const bool scatter = r.entry.op == "reduce_scatter";
    if (!all_to_all && !gather && !scatter) continue;
    for (const bool combine : {false, true}) {
      if ((gather && combine) || (scatter && !combine)) continue;
      ProfileEntry e = r.entry;
      e.op = fmt::format("{}_{}", combine ? "combine" : "dispatch", all_to_all ? "alltoall" : "allgather");
      e.provenance = Provenance::derived;
      e.residual.reset();
      e.source = fmt::format("{} {}", r.entry.op, r.entry.tier);
      if (all_to_all && !combine) {
        for (auto& [name, value] : e.params) {
          if (name == "latency") value = 2.0 * value + 4.0 * host;
        }
        e.source +=
            ", plus an exchange of counts and the host that waits for it (assumed: one more latency, 4 host ops)";
      }
      report.add(e);
    }
  }
}

void fit_dispatchers(Report& report) {
  for (const bool combine : {false, true}) {
    if (report.gpu().spec.name == "h800_sxm") {
      add_h800_deepep(report, combine);
    } else {
      fit_deepep(report, combine, true);
      fit_deepep(report, combine, false);
    }
    add_hybridep(report, combine);
  }
  add_nccl_dispatchers(report);
}

} // namespace tessella::calib
