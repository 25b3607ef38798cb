#include "sim/engine/fair_share.h"

#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "sim/base/check.h"

namespace tessella {
namespace {

// What is left of a resource while rates rise together.
struct Resource {
  double left = 0.0;   // capacity less what frozen users take
  double demand = 0.0; // sum of coefficients of users that still rise
  std::vector<std::int32_t> users;
  std::size_t rising = 0; // uses of users that still rise

  // The common rate at which it is full.
  double level() const { return left > 0.0 ? left / demand : 0.0; }
};

using Candidate = std::pair<double, std::int32_t>; // level, resource: ties go to the lower index
using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

std::vector<Resource> tally(std::span<const double> capacities, std::span<const std::vector<ResourceUse>> users) {
  std::vector<Resource> resources(capacities.size());
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    TSL_CHECK(capacities[i] >= 0.0);
    resources[i].left = capacities[i];
  }
  for (std::size_t u = 0; u < users.size(); ++u)
    for (const ResourceUse& use : users[u]) {
      TSL_CHECK(use.coefficient > 0.0);
      Resource& r = resources[static_cast<std::size_t>(use.resource)];
      r.demand += use.coefficient;
      r.users.push_back(static_cast<std::int32_t>(u));
      ++r.rising;
    }
  return resources;
}

} // namespace

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const std::vector<ResourceUse>> users) {
  std::vector<Resource> resources = tally(capacities, users);
  std::vector<double> rates(users.size(), std::numeric_limits<double>::infinity());
  Queue queue;
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (resources[i].rising > 0 && std::isfinite(resources[i].left))
      queue.emplace(resources[i].level(), static_cast<std::int32_t>(i));
  while (!queue.empty()) {
    const auto [level, index] = queue.top();
    queue.pop();
    const Resource& full = resources[static_cast<std::size_t>(index)];
    if (full.rising == 0) continue;
    if (full.level() > level) { // users froze elsewhere since: levels only rise
      queue.emplace(full.level(), index);
      continue;
    }
    for (const std::int32_t u : full.users) {
      double& rate = rates[static_cast<std::size_t>(u)];
      if (std::isfinite(rate)) continue;
      rate = level;
      for (const ResourceUse& use : users[static_cast<std::size_t>(u)]) {
        Resource& r = resources[static_cast<std::size_t>(use.resource)];
        r.left -= level * use.coefficient;
        r.demand -= use.coefficient;
        --r.rising;
      }
    }
  }
  return rates;
}

} // namespace tessella
