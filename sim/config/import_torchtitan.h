// torchtitan job files (TOML) as experiments. Names and defaults are torchtitan's (its JobConfig); what it calls a
// degree we call a size. The file does not say how many GPUs there are: with data_parallel_shard_degree -1 the world is
// needed.
//
//   micro-batch   pipeline_parallel_microbatch_size with a pipeline, else local_batch_size
//   global batch  global_batch_size, else local_batch_size times the data-parallel size
//   stages        per rank: 1 for 1F1B and GPipe, 2 for schedules with several
//   recompute     mode full -> full; selective -> layernorm and moe_act, the nearest of ours; none -> none
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessella {

struct TorchtitanSettings {
  std::string name = "imported";
  std::optional<std::string> model;    // instead of the file's
  std::optional<std::string> topology; // default: a Hopper cluster of that many GPUs
  std::optional<std::string> profile;
  std::optional<std::int64_t> world;
};

struct ImportedTorchtitan {
  std::string yaml;                  // an experiment
  std::vector<std::string> ignored;  // known keys without effect on the cost of a step
  std::vector<std::string> unknown;  // keys we have never heard of
  std::vector<std::string> warnings; // what was taken for something near to it
};

// Errors: InputError with the position: what is missing, or changes the cost of a step and is not modelled.
ImportedTorchtitan import_torchtitan(const std::string& file_name, const std::string& text,
                                     const TorchtitanSettings& settings);

} // namespace tessella
