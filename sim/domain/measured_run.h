// One training run that somebody measured, as a row of a validation CSV states it: facts only, nothing filled in. What
// a row leaves open stays empty; sim/planner/validate/measured_scenario.h holds the one set of defaults for all rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessella {

struct MeasuredRun {
  int line = 0; // in the file, from 1
  std::string id;
  std::string group;  // rows of one source; factors are fitted on the other groups
  std::string usable; // full: everything needed to simulate; partial, headline: something is missing
  std::string model;  // the source's name
  std::optional<std::int64_t> layers;
  std::string gpu;
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> gpus_per_node;
  std::string network;
  std::string precision;
  std::optional<std::int64_t> seq, gbs, mbs;
  std::optional<std::int64_t> tp, pp, vpp, cp, ep, etp, dp;
  std::string sharding, recompute, dispatcher, overlap, routing;
  std::optional<double> step_s, tokens_s_gpu, tflops_per_gpu; // any of the three is a measurement
  std::string framework, sw;
  std::vector<std::string> contradictions; // rules the row breaks by itself, in words with both numbers
  bool operator==(const MeasuredRun&) const = default;
};

// Which of models/ a source's name means; or why there is none.
struct ModelAlias {
  std::string name;
  std::string model;  // "" when there is none
  std::string reason; // then: why
  bool operator==(const ModelAlias&) const = default;
};

} // namespace tessella
