// Runs every solver of this build on the overlap-aware partition problem of a scenario, one after the other on one
// thread: is the optimum the same, and what does proving it cost?
#pragma once

#include <cstdint>

#include "sim/domain/scenario.h"
#include "sim/domain/solver_race.h"

namespace tessella {

struct SolverRaceOptions {
  std::int32_t radius = 2;
  bool with_cbc = true; // where the build has it
  double cbc_seconds = 300.0;
  bool operator==(const SolverRaceOptions&) const = default;
};

// Throws NotCovered when the profile lacks a cost, InputError when it has no kernel costs.
SolverRace race_solvers(const Scenario& scenario, const SolverRaceOptions& options);

} // namespace tessella
