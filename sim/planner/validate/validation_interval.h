// 5 to 95 % intervals around predictions, in logarithms.
//
//   half width^2 = (90 % quantile of |log(measured / predicted)| over the rows of the other groups, same GPU class and
//   kind, or same kind where that class has too few groups)^2
//                + sum over factors (1.645 sensitivity * residual of the profile entries behind the factor)^2
//
// The first part is what no table knows, judged on rows whose own group was left out of their fit; each kind of run
// (one group, model and precision) has one vote. The second is what the tables themselves miss.
#pragma once

#include <string>
#include <vector>

#include "sim/domain/profile.h"

namespace tessella {

// One prediction that was made without its own group.
struct Residue {
  std::string group;
  std::string hardware;   // GPU class
  std::string kind;       // dense or MoE
  std::string cell;       // one vote each
  double log_error = 0.0; // log(measured / predicted)
};

// The q quantile of |log_error| over the rows of other groups that `like` resembles: same hardware and kind where at
// least three other groups are, else same kind on any hardware: two groups say little about a third. 0 when no row is
// left. O(n log n).
double left_out_quantile(const std::vector<Residue>& residues, const Residue& like, double q);

// Standard deviation of log(duration) of the entries behind every factor, from their residuals (median |error| of a
// normal distribution = 0.674 sigma); 0 where none has one.
std::vector<double> profile_spread(const Profile& profile);

// sensitivity: one per factor.
double half_width(double left_out, const std::vector<double>& sensitivity, const std::vector<double>& spread);

} // namespace tessella
