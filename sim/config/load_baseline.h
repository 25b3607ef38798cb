// A baseline folder: baseline.yaml, written by people, and expected/NAME.yaml, written by `tessella regress --accept`.
// Paths are relative to the folder.
//   baseline: name
//   experiments:
//     - {name: qwen3, experiment: ../experiments/01_x/experiment.yaml, set: {batch.gbs: 256}}
//     - {name: planned, experiment: ../x.yaml, plan: true}    # partition and pairs as the planner would choose them
//     now
//   tolerances:
//     - {of: imbalance.costs, relative: 0.1 %, reason: "kernel fits are deterministic"}
//     - {of: totals.mfu, absolute: 0.001, reason: "..."}
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sim/domain/baseline.h"

namespace tessella {

Baseline load_baseline(const std::filesystem::path& folder);
Baseline load_baseline_text(const std::string& file_name, const std::string& text);

// What is expected of an entry; nothing when it was never accepted.
std::optional<Snapshot> load_expected(const std::filesystem::path& folder, const std::string& entry);
Snapshot load_expected_text(const std::string& file_name, const std::string& text);
std::filesystem::path expected_file(const std::filesystem::path& folder, const std::string& entry);

// One value a line, so that a diff of two versions reads well; loads back equal.
std::string to_yaml(const Snapshot& snapshot);

} // namespace tessella
