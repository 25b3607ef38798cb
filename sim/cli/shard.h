// Which part of a sweep this process computes: point i belongs to shard i mod count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tessella {

struct Shard {
  std::int64_t index = 0; // from 0
  std::int64_t count = 1;
  std::string from; // what decided it, for people
  bool operator==(const Shard&) const = default;
};

// `flag`: "k/n" with k from 0 (one whole sweep when empty and no array job runs). Else the job's environment:
//   Slurm       SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT (a job array of any numbering)
//   Kubernetes  JOB_COMPLETION_INDEX, with the count from `shards` (--shards N), which Kubernetes does not tell a pod
// Throws InputError for a shard that does not exist.
Shard shard_of(const std::string& flag, std::optional<std::int64_t> shards);

} // namespace tessella
