// Files into domain values: the only way into the simulator. Every input error ends here, as one InputError that lists
// all mistakes of a file with their positions; what comes back is checked against the limits of input_limits.h.
// Each value also has a canonical text (dump.h) that loads back equal.
//
// The *_text forms read a text that is already in memory; `file_name` is only shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/catalog.h"
#include "sim/domain/cluster.h"
#include "sim/domain/legality.h"
#include "sim/domain/model.h"
#include "sim/domain/profile.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Overrides of a run (LoadOptions); those for the kind of file apply.
using Overrides = std::span<const std::string>;

Model load_model(const std::filesystem::path& file);
Model load_model_text(const std::string& file_name, const std::string& text, Overrides overrides = {});

Cluster load_topology(const std::filesystem::path& file);
Cluster load_topology_text(const std::string& file_name, const std::string& text, Overrides overrides = {});

// Forms and parameters are checked against form_table() (sim/domain/kernel_forms.h); parameters are SI afterwards.
Profile load_profile(const std::filesystem::path& file);
Profile load_profile_text(const std::string& file_name, const std::string& text, Overrides overrides = {});

// Tokens per rank, layer and iteration: a CSV with the header `iter,layer,rank,tokens`, whole numbers only. The text
// may be far larger than a document; what makes rows a trace is in sim/domain/routing.h.
RoutingTrace load_trace_text(const std::string& file_name, const std::string& text);

struct LoadOptions {
  std::vector<std::string> overrides;                 // "a.b=v", as after --set
  std::optional<std::uint64_t> seed;                  // --seed; wins over the file
  std::optional<std::int64_t> steps;                  // --steps; wins over the file
  std::optional<std::filesystem::path> home;          // instead of the environment's TESSELLA_HOME
  std::vector<std::string> schedules;                 // names schedule.name may have; empty: any
  std::vector<std::string> overlap_schedulers;        // names schedule.overlap.scheduler may have; empty: any
  std::optional<std::filesystem::path> schedule_file; // --schedule FILE; wins over the file's schedule
  // Reads schedule.file, an order written by others, and appends what a user should know. Unset: there are none.
  std::function<Schedule(const std::string& file_name, const std::string& text, std::vector<std::string>& notes)>
      import_schedule;
  std::vector<std::string> fill_policies; // names bubble_filler.policy may have; empty: any
  // Rules of layers this one does not know (the schedule table), judged on a scenario that is legal so far.
  std::function<std::vector<Violation>(const Scenario&)> more_rules;
};

// Reads an experiment, everything it refers to, and checks that the whole is legal (sim/domain/legality.h) and that its
// routing can be drawn (sim/domain/workload_shape.h). inputs holds the SHA-256 of every file.
Scenario load_scenario(const std::filesystem::path& file, const LoadOptions& options = {});

} // namespace tessella
