// Four layers of a small MoE on 32 GPUs: every kind of op, in milliseconds of simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/load.h"

namespace tessella::testing {

inline Scenario small_moe(const std::vector<std::string>& overrides = {}, std::optional<std::int64_t> steps = {}) {
  LoadOptions options;
  options.overrides = {"parallelism.pp=2",
                       "parallelism.vpp=1",
                       "parallelism.world_size=32",
                       "parallelism.ep=8",
                       "batch.gbs=64",
                       "schedule.name=1f1b",
                       "parallelism.account_for_embedding_in_pipeline_split=false",
                       "parallelism.account_for_loss_in_pipeline_split=false"};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  options.steps = steps;
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

} // namespace tessella::testing
