// SWEEP.yaml: many scenarios from one experiment.
//   sweep: name
//   experiment: ../01_x/experiment.yaml        # relative to this file
//   set: {routing.kind: balanced}              # of every point; keys are --set paths
//   grid:
//     parallelism.tp: [1, 2, 4]
//     simulation.seed: {from: 1, to: 100, step: 1}
//     routing.static_sigma: {min: 0.1, max: 0.9, log: true}       # only with a sample
//   list:
//     - {parallelism.ep: 8, batch.mbs: 1}
//   constraints: ["tp * pp <= 16"]             # sim/domain/expression.h
//   sample: {method: latin_hypercube, points: 200, seed: 1}       # or random; without it: the whole grid
#pragma once

#include <filesystem>
#include <string>

#include "sim/domain/sweep.h"

namespace tessella {

SweepSpec load_sweep(const std::filesystem::path& file);
// `file_name` is shown, and the experiment's path is taken from its folder.
SweepSpec load_sweep_text(const std::string& file_name, const std::string& text);

} // namespace tessella
