// Megatron-LM launch flags as an experiment: an argument string, a whole launch script, a ModelZoo YAML, or a line such
// as "TP=2 PP=8 VPP=4 EP=64 NNODES=128 GBS=8192". Flags that change what a step costs are taken over; those that do not
// (data, logging, learning rate, ...) are listed as ignored; those that change it in a way that is not modelled are
// refused.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/domain/model.h"

namespace tessella {

struct MegatronSettings {
  std::string name;                    // of the experiment
  std::optional<std::string> model;    // names a model; otherwise the flags describe one
  std::optional<std::string> topology; // default: a Hopper cluster of that many GPUs, with a warning
  std::optional<std::string> profile;
};

struct ImportedExperiment {
  std::string yaml;                 // an experiment file
  std::optional<Model> model;       // described by flags; the experiment names it MODEL_FILE below
  std::vector<std::string> ignored; // flags without an effect on the cost of a step
  std::vector<std::string> unknown; // flags that are not in any table; ignored as well
  std::vector<std::string> warnings;
};

// (file name, text) in order; later ones win. `model_file` is how the experiment refers to a model made of flags.
// Throws InputError: a value that is no number, a refused flag, or something missing, with the flags that would give
// it.
ImportedExperiment import_megatron(const std::vector<std::pair<std::string, std::string>>& texts,
                                   const MegatronSettings& settings, const std::string& model_file);

} // namespace tessella
