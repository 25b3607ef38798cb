// What moved between two profiles, entry by entry: by what a parameter changed is hard to read, so each form is
// evaluated at the shapes it is used for (a small and a large one), and a change counts when it exceeds the noise that
// the entries' own residuals admit.
#pragma once

#include <string>
#include <vector>

#include "sim/domain/profile.h"

namespace tessella::calib {

struct EntryDiff {
  std::string entry;   // "gemm bf16"
  std::string what;    // "only in the first", "another form", "at m=4096 ...", "provenance"
  double before = 0.0; // seconds (0 when there is none)
  double after = 0.0;
  double change = 0.0; // after / before - 1
  double noise = 0.0;  // what the residuals allow
  bool beyond_noise = false;
};

struct ProfileDiff {
  std::vector<EntryDiff> entries;    // those that differ at all, in the order of the first profile
  std::vector<std::string> warnings; // "profiles of different GPUs"
};

// Changes below `floor` (relative) are noise even for entries without residuals.
ProfileDiff diff_profiles(const Profile& before, const Profile& after, double floor = 0.02);

std::string to_text(const ProfileDiff& d);

} // namespace tessella::calib
