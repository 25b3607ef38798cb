// Max-min fair sharing: several users take from several resources, and nobody can get more without taking it from
// someone who has no more. Progressive filling: raise all rates together, freeze whoever meets a full resource
// (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2).
//
// A user at rate r takes r * coefficient from each resource it uses. The result is the unique vector of rates with
//   sum of r_u * coefficient <= capacity                                     for every resource
//   every user has a resource that is full and where no other rate is higher than its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessella {

struct ResourceUse {
  std::int32_t resource = 0; // index into the capacities
  double coefficient = 1.0;  // > 0; uses of one resource add up
};

// Rates in the unit of the capacities. Capacities are >= 0 and may be infinite; a user of no finite resource has an
// infinite rate. O(uses + resources * log(resources)).
std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const std::vector<ResourceUse>> users);

} // namespace tessella
