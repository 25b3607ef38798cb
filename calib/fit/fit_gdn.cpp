// Gated delta rule: the kernels of flash-linear-attention (fla), which training frameworks call, as measured beside
// FlashQLA on H200. The work is compute and latency bound, so the rows serve H100 as well. Mamba-2's scan is derived
// from them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "calib/fit/recipe.h"

namespace tessella::calib {
namespace {

constexpr std::int64_t kChunk = 64; // tokens, in fla

std::optional<std::int64_t> leading_number(const std::string& s, std::size_t at) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data() + at, s.data() + s.size(), value);
  if (error != std::errc{} || end == s.data() + at) return std::nullopt;
  return value;
}

// "1x32768", "4096x8" (either order), "8k_4seq": the number of equal sequences. Mixtures ("6144+2048"): nothing.
std::optional<std::int64_t> sequences(const std::string& s) {
  const auto first = leading_number(s, 0);
  if (!first || s.find('+') != std::string::npos) return std::nullopt;
  if (const std::size_t at = s.find("k_"); at != std::string::npos) return leading_number(s, at + 2);
  const std::size_t at = s.find('x');
  const auto second = at == std::string::npos ? std::nullopt : leading_number(s, at + 1);
  if (!second) return std::nullopt;
  return std::min(*first, *second);
}

void fit_pass(Report& report, const std::string& pass) {
  const Table t = report.table("flashqla_gdn.csv");
  std::vector<GdnShape> shapes;
  FitProblem p;
  p.about = "gdn_" + pass;
  std::int64_t mixed = 0;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "gpu") != "H200" || t.text(i, "impl") != "fla" || t.text(i, "pass") != pass) continue;
    const auto batch = sequences(t.text(i, "seqlens"));
    if (!batch) {
      ++mixed;
      continue;
    }
    const std::int64_t tokens = t.whole(i, "total_tokens");
    const std::int64_t dim = t.whole(i, "head_dim");
    const GdnShape s{*batch, tokens / *batch, t.whole(i, "h_qk"), t.whole(i, "h_v"), dim, dim};
    shapes.push_back(s);
    // Some models share a shape; they stay on the same side of the hold-out.
    p.samples.push_back({fmt::format("b{} s{} h{}/{}", s.batch, s.seq, s.key_heads, s.value_heads),
                         fmt::format("heads={} s={}", s.value_heads, s.seq), t.positive(i, "time_ms") * 1e-3});
  }
  report.drop("gdn_" + pass, "sequences of different lengths", mixed);
  p.start = {"gdn_" + pass, "bf16", "", "gdn_rate", {}, Provenance::published, "", {}};
  p.start.params = {{"peak", 1e14},
                    {"launch", 2e-5},
                    {"sms", static_cast<double>(report.gpu().spec.sms)},
                    {"chunk", static_cast<double>(kChunk)},
                    {"chunk_latency", 1e-6}};
  p.start.source = fmt::format("fit of flashqla_gdn.csv ({} of flash-linear-attention 0.5.1 on H200, Qwen3.5 shapes)",
                               pass == "fwd" ? "forward" : "backward");
  p.free = {"peak", "launch", "chunk_latency"};
  p.predict = [shapes](const ProfileEntry& e, std::size_t i) { return gdn_seconds(e, shapes[i]); };
  report.add(fit(p));
}

struct SsdPass {
  const char* name;
  double state_passes; // how often the states between chunks go through memory
  const char* passes;
};

// The forward kernels of mamba_ssm write the state of every chunk, read and write them to pass them on, and read them
// for the outputs. Its backward does all of that again, the same for their gradients, and reads both for dB, dC and
// the decays.
constexpr SsdPass kSsdPasses[] = {
    {"fwd", 4.0, "written, passed on (read, written), read"},
    {"bwd", 10.0, "the forward again 4, their gradients 4, both read once more"},
};

} // namespace

// No table of Mamba-2's scan is public: the one that names it holds its convolution only. Both are chunked linear
// attention in Triton, so its products run at the rate that those of the gated delta rule reach; what that rule loses
// in its sequential pass from chunk to chunk, the scan pays as memory traffic.
void derive_ssd(Report& report) {
  for (const SsdPass& pass : kSsdPasses) {
    const std::string gdn = fmt::format("gdn_{}", pass.name);
    ProfileEntry e{fmt::format("ssd_{}", pass.name), "bf16", "", "ssd_rate", {}, Provenance::derived, "", {}};
    e.params = {{"peak", report.param(gdn, "bf16", "peak")},
                {"launch", report.param(gdn, "bf16", "launch")},
                {"hbm", report.param("copy", "", "bandwidth")},
                {"state_passes", pass.state_passes}};
    e.source =
        fmt::format("peak and launch of {} (chunked linear attention in Triton as well), memory like copy; chunk "
                    "states {}; no table of the scan exists",
                    gdn, pass.passes);
    report.add(e);
  }
}

void fit_gdn(Report& report) {
  fit_pass(report, "fwd");
  fit_pass(report, "bwd");
}

} // namespace tessella::calib
