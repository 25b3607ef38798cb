#include "sim/planner/validate/factors.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/check.h"

namespace tessella {
namespace {

enum Which : std::size_t {
  clock,
  dense_fp8,
  streams,
  scale_up,
  fabric,
  experts,
  routing,
  exchange,
  beside,
  host,
  count
};

constexpr std::array<FactorInfo, count> kTable = {{
    {"clock", "time of all tensor-core kernels: a run of days against minutes of benchmarks", 0.06, false},
    {"dense_fp8", "time of FP8 GEMMs beyond that: scaling, transposes, kernel choice", 0.08, false},
    {"streams", "time of bandwidth-bound kernels: what is fused and what is not", 0.25, false},
    {"scale_up", "time of TP and CP collectives inside a node: how much of them GEMMs hide", 0.3, false},
    {"fabric", "time of collectives between nodes: network software and its tuning", 0.2, false},
    {"experts", "time of grouped GEMMs: the training library against the table's fused inference kernel", 0.15, true},
    {"routing", "time of router, permutation and un-permutation: unfused in training", 0.4, true},
    {"exchange", "time of expert dispatch and combine: waiting for peers, SMs taken from compute", 0.25, true},
    {"beside", "time of kernels while an expert exchange runs beside them: SMs, memory, order of launches", 0.15, true},
    {"host", "CPU time to issue one kernel of a MoE layer in eager mode", 0.2, true},
}};

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Multiplies the duration the entry yields: latencies grow, rates shrink.
void stretch(ProfileEntry& e, double factor) {
  for (auto& [key, value] : e.params) {
    const bool rate = key == "peak" || key == "hbm" || key == "bandwidth" || key == "efficiency" || key == "factor";
    const bool time =
        key == "launch" || key == "latency" || key == "latency_per_rank" || key == "seconds" || key == "chunk_latency";
    if (e.form == "contention") value = std::max(1.0, value * factor);
    if (rate) value /= factor;
    if (time) value *= factor;
  }
}

} // namespace

std::span<const FactorInfo> factor_table() {
  return kTable;
}

Factors neutral_factors() {
  return Factors(kTable.size(), 1.0);
}

std::optional<std::size_t> factor_of(const ProfileEntry& e) {
  const std::string_view op = e.op;
  if (starts(op, "grouped_gemm")) return experts;
  if (op == "sustained" || starts(op, "attention") || starts(op, "gdn") || starts(op, "ssd")) return clock;
  if (starts(op, "gemm")) return starts(e.dtype, "fp8") ? std::optional<std::size_t>(dense_fp8) : std::nullopt;
  if (op == "host_moe") return host;
  if (e.form == "contention") return beside;
  if (op == "router" || op == "permute" || op == "unpermute") return routing;
  if (starts(op, "dispatch") || starts(op, "combine")) return exchange;
  if (e.form == "collective") return e.tier == "fabric" ? fabric : scale_up;
  if (e.form == "stream") return streams;
  return std::nullopt;
}

Profile with_factors(const Profile& profile, const Factors& factors) {
  TSL_CHECK_OP(factors.size(), ==, kTable.size());
  Profile p = profile;
  for (ProfileEntry& e : p.entries)
    if (const auto i = factor_of(e); i && factors[*i] != 1.0) stretch(e, factors[*i]);
  return p;
}

} // namespace tessella
