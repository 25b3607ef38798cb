// The public recipe of experiment 01 with values replaced, cut down to seconds by its callers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/config/load.h"

namespace tessella::testing {

inline Scenario recipe(std::vector<std::string> overrides) {
  LoadOptions options;
  options.overrides = std::move(overrides);
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

// The same; those of `more` win.
inline Scenario recipe(std::vector<std::string> overrides, const std::vector<std::string>& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return recipe(std::move(overrides));
}

} // namespace tessella::testing
