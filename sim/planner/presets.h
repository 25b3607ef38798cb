// Presets: what the systems that people compare would do with an experiment's model, GPUs and batch. A preset chooses
// schedule, chunks, partition and bubble filler; grid, batch, recompute, dispatcher, costs and routing stay the
// experiment's, so a table of presets compares planning and nothing else. To add one, add a row in presets.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/domain/preset_row.h"
#include "sim/domain/scenario.h"
#include "sim/exec/run.h"

namespace tessella {

enum class PresetPartition { uniform, layer_count, flops, planned }; // baselines.h; planned: make_plan.h
enum class PresetChunks { one, two, experiment };                    // per pipeline rank

struct Preset {
  std::string_view name;
  std::string_view meaning;  // one line
  std::string_view schedule; // a row of the schedule table that has chunks, or that with one chunk per rank
  PresetChunks chunks = PresetChunks::experiment;
  PresetPartition partition = PresetPartition::uniform;
  bool overlaps = false; // expert all-to-alls of pairs, with weight gradients that may be delayed
  std::string_view filler = "none";
  std::string_view pairs = "megatron"; // who orders what overlaps
};

std::span<const Preset> preset_table();
const Preset* find_preset(std::string_view name);

// Why a preset cannot run a scenario, with both numbers and the nearest that can; nothing when it can.
std::optional<std::string> preset_problem(const Preset& preset, const Scenario& scenario);

// The scenario under a preset that has no problem. `planned` partitions throw as make_plan() does.
Scenario apply_preset(const Preset& preset, const Scenario& scenario, unsigned threads);

// One row per preset, in the order given; a preset that cannot run has its reason there. Simulates each once.
std::vector<PresetRow> compare_presets(std::span<const Preset* const> presets, const Scenario& scenario,
                                       const RunOptions& options);

} // namespace tessella
