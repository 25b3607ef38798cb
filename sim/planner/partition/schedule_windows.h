// The windows of weighted_bound.h, each as a linear function of what the stages hold.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/schedule.h"

namespace tessella {

// What a stage's content costs, in ps: a pass alone (whole chain), a pass in a pair, and reducing its gradients.
enum Feature : std::size_t { alone_f, alone_i, alone_w, pair_f, pair_i, pair_w, reduce };
constexpr std::size_t kFeatures = 7;
using Features = std::array<double, kFeatures>;

inline Features& operator+=(Features& a, const Features& b) {
  for (std::size_t k = 0; k < kFeatures; ++k) a[k] += b[k];
  return a;
}

inline double dot(const Features& a, const Features& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < kFeatures; ++k) sum += a[k] * b[k];
  return sum;
}

// Sum over stages of coefficients times features, and a constant: one window of one rank.
struct Window {
  std::vector<Features> stage;
  double constant = 0.0;
};

// All windows of all ranks; `flight` is one message between neighbours. O(slots).
std::vector<Window> schedule_windows(const Schedule& schedule, Duration flight);

} // namespace tessella
