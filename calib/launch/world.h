// Who this process is among the ranks of a job, as its launcher says: torchrun's RANK and WORLD_SIZE, Slurm's srun,
// Open MPI's mpirun, or any PMI launcher (MPICH, Intel MPI). One process per GPU; without a launcher, rank 0 of 1.
#pragma once

#include <functional>
#include <string>

namespace tessella::calib {

struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;   // on this machine: which GPU to take
  std::string launcher; // "torchrun", "srun", "mpirun", "pmi"; "" without one
  bool operator==(const World&) const = default;
};

// getenv, or a stand-in.
using Environment = std::function<const char*(const char*)>;

// Throws InputError when a launcher's variables are incomplete, no numbers, or contradict each other.
World world_from(const Environment& get);

} // namespace tessella::calib
