// Which recipes make the profile of a GPU, and what is still missing then.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

// What the simulator may ask for (sim/cost); a dtype or tier where it matters.
constexpr std::array kWanted = {"gemm bf16",
                                "gemm fp8",
                                "gemm_dgrad bf16",
                                "gemm_dgrad fp8",
                                "gemm_wgrad bf16",
                                "gemm_wgrad fp8",
                                "grouped_gemm bf16",
                                "grouped_gemm fp8",
                                "grouped_gemm_dgrad bf16",
                                "grouped_gemm_dgrad fp8",
                                "grouped_gemm_wgrad bf16",
                                "grouped_gemm_wgrad fp8",
                                "attention_fwd bf16",
                                "attention_bwd bf16",
                                "gdn_fwd bf16",
                                "gdn_bwd bf16",
                                "ssd_fwd bf16",
                                "ssd_bwd bf16",
                                "norm_fwd",
                                "norm_bwd",
                                "activation",
                                "activation_bwd",
                                "permute",
                                "unpermute",
                                "router",
                                "cross_entropy",
                                "cast_fp8",
                                "optimizer",
                                "copy",
                                "embedding",
                                "launch",
                                "host_op",
                                "sustained",
                                "contention",
                                "all_reduce node",
                                "all_reduce fabric",
                                "all_gather node",
                                "all_gather fabric",
                                "reduce_scatter node",
                                "reduce_scatter fabric",
                                "all_to_all node",
                                "all_to_all fabric",
                                "send_recv node",
                                "send_recv fabric",
                                "dispatch_deepep node",
                                "dispatch_deepep fabric",
                                "combine_deepep node",
                                "combine_deepep fabric",
                                "dispatch_hybridep node",
                                "dispatch_hybridep fabric",
                                "combine_hybridep node",
                                "combine_hybridep fabric"};

std::string label(const ProfileEntry& e) {
  return e.op + (e.dtype.empty() ? "" : " " + e.dtype) + (e.tier.empty() ? "" : " " + e.tier);
}

void fit_hopper(Report& report) {
  fit_gemm(report);
  fit_moe(report);
  derive_backward(report);
  fit_attention(report);
  fit_gdn(report);
  fit_stream(report);
  add_streams_like(report);
  derive_ssd(report);
  add_common(report);
  add_host_link(report);
  fit_collectives(report);
  fit_dispatchers(report);
}

} // namespace

std::vector<std::string> missing_entries(const Report& report) {
  std::vector<std::string> missing;
  for (const char* wanted : kWanted) {
    const bool known = std::any_of(report.results().begin(), report.results().end(),
                                   [&](const FitResult& r) { return label(r.entry) == wanted; });
    if (!known) missing.emplace_back(wanted);
  }
  return missing;
}

Profile fit_profile(Report& report, const std::string& name) {
  const std::string& table = report.gpu().table_name;
  if (table.empty()) throw NotCovered(missing_entries(report));
  if (report.gpu().spec.fp8_peak.flops_per_second > 0.0) {
    fit_hopper(report);
  } else {
    fit_a100(report);
    derive_backward(report);
    add_common(report);
    fit_collectives(report);
    add_nccl_dispatchers(report);
  }
  return {name, report.gpu().spec, report.entries()};
}

} // namespace tessella::calib
