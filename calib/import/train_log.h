// Step times out of training logs: Megatron-LM's "elapsed time per iteration (ms)" lines and torchtitan's "tps" lines.
// The first steps warm up and are left out; the rest is summed up by its median.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "calib/protocol/statistics.h"

namespace tessella::calib {

struct TrainingRun {
  std::string framework;        // "Megatron-LM" or "torchtitan"
  Summary step;                 // seconds; none for torchtitan, whose lines hold rates only
  Summary tokens_per_s_per_gpu; // torchtitan's tps
  Summary tflops_per_gpu;       // where the log has it
  std::optional<std::int64_t> global_batch_size;
  std::map<std::string, std::int64_t> dropped;
};

// `warmup`: steps left out at the beginning. Throws InputError when the text has no line of either kind.
TrainingRun import_training_log(const std::string& name, const std::string& text, std::int64_t warmup);

// Header and one row of a validation CSV (tessella validate), for the user to complete: model, GPU, parallelism and
// batch are not in a log, so the row is "partial" until they are filled in.
std::string to_validation_csv(const TrainingRun& run, const std::string& id);

} // namespace tessella::calib
