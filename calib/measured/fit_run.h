// From the folder of a run (raw.csv, run.json) to a profile. On the host every entry is measured. On a GPU the entries
// whose ops were measured are fitted, starting from those of a base profile of the same GPU, and the base fills in what
// one machine cannot measure (the fabric, other dispatchers), each with its own provenance.
//
// How many parameters of a form are fitted depends on how many shapes there are: two training rows for each, and none
// that the data leave undetermined; the others stay as in the base, and the source says which. Attention is kept from
// the base: the bench of CUDA's libraries is no fused kernel.
#pragma once

#include <string>
#include <vector>

#include "calib/fit/least_squares.h"
#include "calib/fit/recipe.h"
#include "calib/protocol/raw_table.h"
#include "calib/protocol/run_record.h"
#include "sim/domain/profile.h"

namespace tessella::calib {

struct RunFit {
  Profile profile;
  std::vector<FitResult> results; // of the entries fitted here
  std::vector<Dropped> dropped;
};

// The name in profiles of the GPU that a driver calls so ("NVIDIA H200" -> "h200_sxm"); "" when it is not known.
std::string profile_gpu(const std::string& driver_name);

// `base` may be nullptr on the host. Throws InputError without a base on a GPU, with a base of another GPU unless
// `force`, and when nothing was measured. A folder that mixes devices, or a forced base, is marked in every source.
RunFit fit_run(const RunRecord& record, const std::vector<RawRow>& rows, const std::string& name, const Profile* base,
               bool force);

// One more row of `op` left out for this reason.
void count_dropped(std::vector<Dropped>& dropped, const std::string& op, const std::string& why);

// The rows of a GPU alone, op by op.
RunFit fit_gpu_rows(const std::vector<RawRow>& rows, const Profile& base, const std::string& mark);

} // namespace tessella::calib
