// What every command that takes an experiment shares: its flags and the way from files to a legal scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace CLI {
class App;
}

namespace tessella {

struct Preset;

struct ExperimentFlags {
  std::string file;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> steps;
  std::string schedule; // swaps schedule.name, or takes the order of a torch CSV
  std::string overlap;  // who orders the pairs: a scheduler's name, or a file of orders
  std::string plan;     // a plan.yaml whose partition and pair orders replace the experiment's
  std::string policy;   // swaps bubble_filler.policy
  std::string preset;   // what another system would do (sim/planner/presets.h)
};

void add_experiment_flags(CLI::App& command, ExperimentFlags& flags);
// --schedule and --overlap, for commands that run a schedule.
void add_order_flags(CLI::App& command, ExperimentFlags& flags);

// What every loader of experiments must know: names and rules of the schedule table.
LoadOptions experiment_rules();

// Loads, checks every rule, including those of the schedule. Errors: InputError.
Scenario load_experiment(const ExperimentFlags& flags);

// A row of the preset table; InputError with the nearest name otherwise.
const Preset& preset_named(const std::string& flag, const std::string& name);

// True when standard output is a terminal that wants colour.
bool wants_colour();
int terminal_width();

} // namespace tessella
