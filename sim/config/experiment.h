// An experiment file as it is written, before its names are looked up: everything of the scenario that needs no other
// file, and what does. load.h is what callers want; this is for those that bring their own model or cluster.
#pragma once

#include <optional>
#include <string>

#include "sim/config/load.h"
#include "sim/config/node.h"
#include "sim/domain/layout.h"

namespace tessella {

// A name or path of another file, and where it stands.
struct Reference {
  std::string text;
  SourceSpan where;
};

struct Experiment {
  // model, cluster, profile, partition and inputs are still empty; parallelism has what was given.
  Scenario draft;
  LayoutSpec layout;
  Reference model;
  Reference topology;
  Reference profile;
  std::optional<Reference> schedule_file; // relative to the experiment
  std::optional<Reference> orders;        // schedule.overlap.orders, likewise
  std::optional<std::int64_t> world_size; // default: all GPUs of the cluster
  std::optional<std::int64_t> vpp;        // default: from the layout, else 1
  std::optional<std::int64_t> etp;        // default: tp
  Node root;                              // for positions
};

// Keys and their short forms: see load_experiment.cpp. Overrides, seed and steps of the options are applied.
Experiment read_experiment(const std::string& file_name, const std::string& text, const LoadOptions& options = {});

// Joins the parts, checks that they fit each other and that the plan is legal. `model` and the others are what the
// references stand for.
Scenario assemble(const Experiment& experiment, Model model, Cluster cluster, Profile profile);

// Where a dotted path such as "parallelism.expert_model_parallel_size" stands, under any spelling of its last key; the
// nearest enclosing key that exists otherwise.
SourceSpan position_of(const Experiment& experiment, const std::string& dotted_path);

// The same for a character inside a value that is written on one line without escapes, `column` counting from 1;
// nothing when the path is not such a value.
std::optional<SourceSpan> position_inside(const Experiment& experiment, const std::string& dotted_path, int column);

} // namespace tessella
