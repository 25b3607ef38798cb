// What `plan --solvers` found, as a table and as JSON.
#pragma once

#include <string>

#include "sim/domain/solver_race.h"

namespace tessella {

std::string solver_text(const std::string& experiment, const SolverRace& race);
// Ends with a newline. Times are SI seconds; only the *cpu_s differ between two identical runs.
std::string solver_json(const std::string& experiment, const SolverRace& race);

} // namespace tessella
