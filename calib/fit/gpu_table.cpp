// The GPUs of the raw tables. Peaks are dense, without sparsity.
#include "calib/fit/recipe.h"

namespace tessella::calib {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

GpuSpec spec(const char* name, std::int64_t sms, double bf16, double fp8, double hbm, std::int64_t gib,
             const char* source) {
  return {name, sms, {bf16}, {fp8}, {hbm}, {gib * kGiB}, source};
}

} // namespace

const std::vector<GpuSource>& gpu_table() {
  const Bandwidth nvlink4{450e9};
  const Bandwidth ndr{50e9};
  static const std::vector<GpuSource> table = {
      {spec("h100_sxm", 132, 989.4e12, 1978.9e12, 3.35e12, 80, "NVIDIA H100 SXM5 data sheet, dense"), "H100-SXM5-80GB",
       "", "H100-SXM5-80GB", "", nvlink4, ndr},
      {spec("h200_sxm", 132, 989.4e12, 1978.9e12, 4.8e12, 141, "NVIDIA H200 SXM data sheet, dense"), "H200-SXM5-141GB",
       "", "H200-SXM5-141GB", "", nvlink4, ndr},
      {spec("h800_sxm", 132, 989.4e12, 1978.9e12, 3.35e12, 80,
            "H100 SXM5 compute and memory; NVLink cut to 400 GB/s both ways (DeepSeek-V3 report)"),
       "H100-SXM5-80GB", "measured on H100 SXM: same die, clocks and memory", "H100-SXM5-80GB",
       "measured on H100 SXM; efficiencies are relative to the link", nvlink4, ndr},
      {spec("a100_sxm", 108, 312e12, 0.0, 2.039e12, 80, "NVIDIA A100 80GB SXM data sheet, dense; no fp8"),
       "A100-PCIe-80GB",
       "measured on A100 PCIe: same die and memory, lower power limit",
       "A100-SXM",
       "",
       {300e9},
       ndr},
      {spec("mi250x_gcd", 110, 191.5e12, 0.0, 1.6384e12, 64, "AMD MI250X data sheet, one of two GCDs; no fp8"),
       "",
       "",
       "",
       "",
       {},
       {}},
  };
  return table;
}

} // namespace tessella::calib
