// Entries that no table of the GPU holds: derived from other entries or from other GPUs' ratios, or assumed with the
// reasoning in the source.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "calib/fit/recipe.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// SimuMax's efficiencies by layout: the one public set of input- and weight-gradient GEMMs (A100 and B200).
class LayoutRatios {
 public:
  explicit LayoutRatios(const Report& report) {
    const Table t = report.table("simumax_op_efficiency.csv");
    for (std::size_t i = 0; i < t.rows(); ++i) {
      const std::string& op = t.text(i, "op");
      if (op != "matmul" && op != "group_matmul") continue;
      if (t.text(i, "stage").empty()) continue;
      const bool grouped = op == "group_matmul";
      const std::int64_t m = t.whole(i, "m");
      const std::int64_t n = t.whole(i, "n");
      const std::int64_t k = t.whole(i, "k");
      if (grouped && m < kMinTokens) continue;
      add(t, i, grouped, {m, n, k});
    }
  }

  // Median efficiency of the pass over the forward pass of the same layer.
  double ratio(bool grouped, bool wgrad) const {
    std::vector<double> ratios;
    for (const auto& [key, value] : (wgrad ? wgrad_ : dgrad_)) {
      if (std::get<0>(key) != grouped) continue;
      if (const auto it = forward_.find(key); it != forward_.end()) ratios.push_back(value / it->second);
    }
    if (ratios.size() < 4) throw InputError("simumax_op_efficiency.csv", "too few gradient GEMMs to derive from");
    return median(ratios);
  }

 private:
  using Layer = std::tuple<bool, std::string, std::int64_t, std::int64_t, std::int64_t>; // grouped, gpu, forward m n k
  static constexpr std::int64_t kMinTokens = 1024; // per expert; below, fp32 accumulation binds on memory

  void add(const Table& t, std::size_t i, bool grouped, std::tuple<std::int64_t, std::int64_t, std::int64_t> mnk) {
    const auto [m, n, k] = mnk;
    const std::string& stage = t.text(i, "stage");
    const std::string& gpu = t.text(i, "gpu");
    const double efficiency = t.positive(i, "efficiency");
    // Grouped rows name the forward shape in every stage; dense rows name their own.
    if (stage == "fwd") forward_[{grouped, gpu, m, n, k}] = efficiency;
    if (stage == "dgrad") dgrad_[{grouped, gpu, m, k, n}] = efficiency;
    if (stage == "wgrad") wgrad_[{grouped, gpu, k, m, n}] = efficiency;
    if (stage == "bwd_grad_act") dgrad_[{grouped, gpu, m, n, k}] = efficiency;
    if (stage == "bwd_grad_w") wgrad_[{grouped, gpu, m, n, k}] = efficiency;
  }

  std::map<Layer, double> forward_;
  std::map<Layer, double> dgrad_;
  std::map<Layer, double> wgrad_;
};

ProfileEntry stream(const std::string& op, double launch, double bandwidth, Provenance provenance,
                    const std::string& source) {
  return {op, "", "", "stream", {{"launch", launch}, {"bandwidth", bandwidth}}, provenance, source, {}};
}

} // namespace

void derive_backward(Report& report) {
  const LayoutRatios ratios(report);
  for (const std::string op : {"gemm", "grouped_gemm"}) {
    for (const std::string dtype : {"bf16", "fp8", "fp8_block"}) {
      for (const bool wgrad : {false, true}) {
        const bool known = std::any_of(report.results().begin(), report.results().end(),
                                       [&](const FitResult& r) { return r.entry.op == op && r.entry.dtype == dtype; });
        if (!known) continue;
        ProfileEntry e = report.entry(op, dtype);
        const double ratio = ratios.ratio(op == "grouped_gemm", wgrad);
        e.op += wgrad ? "_wgrad" : "_dgrad";
        for (auto& [name, value] : e.params) {
          if (name == "peak") value *= ratio;
        }
        e.provenance = Provenance::derived;
        e.residual.reset();
        e.source =
            fmt::format("{} {} with its peak times {:.3f}: median efficiency of this pass over the forward of the "
                        "same layer on A100 and B200 (simumax_op_efficiency.csv); no Hopper table exists",
                        op, dtype, ratio);
        report.add(e);
      }
    }
  }
}

void add_streams_like(Report& report) {
  const double launch = report.param("gemm", "bf16", "launch");
  const double copy = report.param("cast_fp8", "", "bandwidth");
  const double moe = report.measured_param("grouped_gemm", "bf16", "stream");
  const double hbm = report.gpu().spec.hbm.bytes_per_second;
  const auto derived = Provenance::derived;
  const auto assumed = Provenance::assumed;
  const std::string like_cast = "streams like cast_fp8";
  for (const char* op : {"copy", "activation", "activation_bwd", "conv1d_bwd"}) {
    report.add(stream(op, launch, copy, derived, like_cast));
  }
  report.add(stream("optimizer", launch, copy, assumed, "fused Adam, one pass over its state: " + like_cast));
  for (const char* op : {"permute", "unpermute", "embedding"}) {
    report.add(
        stream(op, launch, moe, derived, "data movement of the fused MoE layer, fitted along with grouped_gemm"));
  }
  report.add(
      stream("router", 8.0 * launch, 4096.0 * 256.0 * 4.0 / 80e-6, derived,
             "bytes = tokens * experts * 4; gatherTopK and its scatter take 80 us for 4096 tokens and 256 experts in "
             "the DeepSeek-V3 trace (dsv3_dualpipe_kernels.csv), in some 8 small kernels"));
  report.add(stream("cross_entropy", 8.0 * launch, 0.54 * hbm, assumed,
                    "0.54 of the HBM peak: between SimuMax's 0.81 on A100 and 0.28 (fused) on B200"));
}

// PCIe 5, the same on every Hopper board.
void add_host_link(Report& report) {
  const Table t = report.table("collectives_misc.csv");
  for (std::size_t i = 0; i < t.rows(); ++i)
    if (t.text(i, "op") == "H2D memcpy" && t.text(i, "gpu") == "H100") {
      const ProfileEntry e = stream("host_link", report.param("gemm", "bf16", "launch"), t.positive(i, "value") * 1e9,
                                    Provenance::published,
                                    "one H100's copy from pinned host memory over PCIe 5 (collectives_misc.csv, "
                                    "Voltage Park); launch as gemm bf16");
      report.add({e, e, {}, true});
      return;
    }
  throw InputError("collectives_misc.csv", "no row of op 'H2D memcpy' for H100");
}

void add_common(Report& report) {
  report.add(ProfileEntry{"launch",
                          "",
                          "",
                          "constant",
                          {{"seconds", report.param("gemm", "bf16", "launch")}},
                          Provenance::derived,
                          "the launch term of gemm bf16: a kernel behind another in a stream",
                          {}});
  report.add(ProfileEntry{"host_op",
                          "",
                          "",
                          "constant",
                          {{"seconds", 6e-6}},
                          Provenance::assumed,
                          "CPU time to issue one kernel from an eager framework; matters when kernels are shorter",
                          {}});
  const ProfileEntry contention{
      "contention",
      "",
      "",
      "contention",
      {{"gemm", 1.05}, {"membound", 1.14}, {"norm", 1.65}, {"waiting", 1.08}, {"communication", 1.3}},
      Provenance::published,
      "DeepSeek-V3 DualPipe trace on H800, same-position kernels with and without a data-moving all-to-all: fp8 GEMM "
      "1.02-1.07, casts, transposes and copies 1.04-1.22, LayerNorm 1.63-1.74; beside waiting kernels LayerNorm +8 %, "
      "GEMM none; combine 6.0-6.4 ms against 4.7 ms at DeepEP's standalone rate",
      {}};
  FitResult result{contention, contention, {}, true}; // of a Hopper GPU; no other has a trace
  report.add(result);
}

} // namespace tessella::calib
