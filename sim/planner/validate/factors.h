// Named global factors: what no kernel table can tell because it belongs to the software around the kernels or to the
// machine under sustained load. Each scales one class of profile entries of every row alike; 1 leaves the profile as it
// is. They are fitted to measured runs (sim/planner/validate/factor_fit.h), never to the run they are judged on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/domain/profile.h"

namespace tessella {

struct FactorInfo {
  const char* name;
  const char* meaning;
  double spread; // what we expect beforehand: the standard deviation of log(value) around log(1)
  bool of_moe;   // fitted on MoE runs, after the others are on dense ones
};

std::span<const FactorInfo> factor_table();

// One value per row of the table; > 0, multiplies a duration.
using Factors = std::vector<double>;
Factors neutral_factors();

// Which factor an entry belongs to.
std::optional<std::size_t> factor_of(const ProfileEntry& entry);

// O(entries).
Profile with_factors(const Profile& profile, const Factors& factors);

} // namespace tessella
