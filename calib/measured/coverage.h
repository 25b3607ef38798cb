// What a profile's costs for a model rest on: the share of a step's kernel time, by a roofline, for each provenance.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calib/protocol/work_queue.h"
#include "sim/domain/profile.h"

namespace tessella::calib {

struct Coverage {
  std::array<double, kNumProvenances> share{}; // by Provenance; with `missing` they sum to 1
  double missing = 0.0;
  std::vector<std::string> not_measured; // ops, with what they rest on instead
};

// Jobs of `model_shapes` for this model; what is no op of a step (overlap, memcpy, ceilings) does not count.
Coverage coverage_of(const Profile& profile, const std::vector<Job>& jobs);
std::string to_text(const Coverage& c);

} // namespace tessella::calib
