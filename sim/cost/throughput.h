// Tokens, FLOPs and seconds into each other, and the checks that keep a published number honest.
// MFU = model FLOPs / (seconds * GPUs * dense BF16 peak), also for FP8 runs. Tera = 1e12. All functions are O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/base/units.h"
#include "sim/domain/scenario.h"

namespace tessella {

double tflops_per_gpu(Flops work, double seconds, std::int64_t gpus);
double tokens_per_s_per_gpu(std::int64_t tokens, double seconds, std::int64_t gpus);
// Fraction of the peak; the same for HFU with hardware FLOPs.
double mfu(double tflops_per_gpu, FlopRate dense_peak);

struct DensePeak {
  const char* gpu;
  double bf16_tflops; // dense
};
// Vendors' dense BF16 peaks of one GPU (MI250X: of one GCD), as torchtitan and the datasheets list them.
std::span<const DensePeak> dense_peaks();

// A warning when `peak` is not a known dense peak but twice one: the figure with sparsity, or of two dies.
std::optional<std::string> sparse_peak_warning(FlopRate peak);

// One row of somebody's table about a known amount of work.
struct Measurement {
  double step_seconds = 0.0;
  std::int64_t gpus = 0;
  std::optional<double> tflops_per_gpu;
};
// Two runs of the same model, sequence and batch do the same FLOPs per step. What b's TFLOPS per GPU must be, given
// a's.
double implied_tflops_per_gpu(const Measurement& a, const Measurement& b);
// A message when b's reported TFLOPS differ from the implied ones by more than `tolerance` (relative).
std::optional<std::string> inconsistent_work(const Measurement& a, const Measurement& b, double tolerance);

// What a TFLOPS or MFU figure rests on. Two figures compare only on the same basis.
struct FlopsBasis {
  FlopsConvention convention = FlopsConvention::causal;
  std::int64_t mtp_num_layers = 0; // counted in the figure
  FlopRate peak;                   // what MFU divides by
  bool operator==(const FlopsBasis&) const = default;
};
// Names every difference; nothing when the figures compare. Peaks within 0.1 % are the same (989 and 989.4).
std::optional<std::string> incomparable(const FlopsBasis& a, const FlopsBasis& b);

} // namespace tessella
