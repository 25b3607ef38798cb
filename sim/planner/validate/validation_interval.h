// 5 to 95 % intervals around predictions, in logarithms.
//
//   half width^2 = (90 % quantile of |log(measured / predicted)| over the rows of the other groups, same GPU class and
//   kind)^2
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
  std::string kind;       // rows that may stand for each other: GPU class, dense or MoE
  std::string cell;       // one vote each
  double log_error = 0.0; // log(measured / predicted)
};

// The q quantile of |log_error| over `kind`, `group` left out; nothing when no row is left. O(n log n).
double left_out_quantile(const std::vector<Residue>& residues, const std::string& kind, const std::string& group,
                         double q);

// Standard deviation of log(duration) of the entries behind every factor, from their residuals (median |error| of a
// normal distribution = 0.674 sigma); 0 where none has one.
std::vector<double> profile_spread(const Profile& profile);

// sensitivity: one per factor.
double half_width(double left_out, const std::vector<double>& sensitivity, const std::vector<double>& spread);

} // namespace tessella
