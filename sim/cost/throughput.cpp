#include "sim/cost/throughput.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace tessella {
namespace {

constexpr std::array<DensePeak, 10> kDensePeaks = {{
    {"A100", 312.0},
    {"H100 SXM, H200, H800", 989.4},
    {"H100 PCIe", 756.0},
    {"H100 NVL", 835.0},
    {"H20", 148.0},
    {"B200, B300", 2250.0},
    {"GB200, GB300", 2500.0},
    {"MI250X GCD", 191.5},
    {"MI300X, MI325X", 1300.0},
    {"MI355X", 2500.0},
}};

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::abs(b);
}

} // namespace

double tflops_per_gpu(Flops work, double seconds, std::int64_t gpus) {
  return work.count / seconds / static_cast<double>(gpus) * 1e-12;
}

double tokens_per_s_per_gpu(std::int64_t tokens, double seconds, std::int64_t gpus) {
  return static_cast<double>(tokens) / seconds / static_cast<double>(gpus);
}

double mfu(double tflops, FlopRate dense_peak) {
  return tflops * 1e12 / dense_peak.flops_per_second;
}

std::span<const DensePeak> dense_peaks() {
  return kDensePeaks;
}

std::optional<std::string> sparse_peak_warning(FlopRate peak) {
  const double tflops = peak.flops_per_second * 1e-12;
  for (const DensePeak& p : kDensePeaks)
    if (near(tflops, p.bf16_tflops, 0.002)) return std::nullopt;
  for (const DensePeak& p : kDensePeaks) {
    if (!near(tflops, 2.0 * p.bf16_tflops, 0.005)) continue;
    return fmt::format(
        "peak {:.0f} TFLOPS is twice the dense BF16 peak of {} ({:.0f}): it counts sparsity, FP8, or two dies; MFU "
        "divides by {:.0f}",
        tflops, p.gpu, p.bf16_tflops, p.bf16_tflops);
  }
  return std::nullopt;
}

double implied_tflops_per_gpu(const Measurement& a, const Measurement& b) {
  TSL_CHECK(a.tflops_per_gpu.has_value());
  const double work = *a.tflops_per_gpu * a.step_seconds * static_cast<double>(a.gpus);
  return work / (b.step_seconds * static_cast<double>(b.gpus));
}

std::optional<std::string> inconsistent_work(const Measurement& a, const Measurement& b, double tolerance) {
  if (!a.tflops_per_gpu || !b.tflops_per_gpu) return std::nullopt;
  const double implied = implied_tflops_per_gpu(a, b);
  if (near(*b.tflops_per_gpu, implied, tolerance)) return std::nullopt;
  return fmt::format(
      "the same work in {:g} s on {} GPUs is {:.3f} TFLOPS per GPU, not the {:.3f} reported (off by {:.1f}x)",
      b.step_seconds, b.gpus, implied, *b.tflops_per_gpu, *b.tflops_per_gpu / implied);
}

std::optional<std::string> incomparable(const FlopsBasis& a, const FlopsBasis& b) {
  std::string why;
  const auto differ = [&](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
  if (a.convention != b.convention) differ(fmt::format("{} against {}", name(a.convention), name(b.convention)));
  if (a.mtp_num_layers != b.mtp_num_layers)
    differ(fmt::format("{} MTP layers counted against {}", a.mtp_num_layers, b.mtp_num_layers));
  if (!near(a.peak.flops_per_second, b.peak.flops_per_second, 0.001))
    differ(fmt::format("peak {:.0f} against {:.0f} TFLOPS", a.peak.flops_per_second * 1e-12,
                       b.peak.flops_per_second * 1e-12));
  if (why.empty()) return std::nullopt;
  return "not comparable: " + why;
}

} // namespace tessella
