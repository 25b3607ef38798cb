// Profiles for tests of collectives.
#pragma once

#include <string>

#include "sim/domain/profile.h"

namespace tessella::testing {

struct CollectiveParams {
  double latency = 0.0;
  double latency_per_rank = 0.0;
  double efficiency = 1.0;
  double half_size = 0.0;
};

inline ProfileEntry collective_entry(const std::string& op, const std::string& tier, const CollectiveParams& p) {
  ProfileEntry e;
  e.op = op;
  e.tier = tier;
  e.form = "collective";
  e.params = {{"latency", p.latency},
              {"latency_per_rank", p.latency_per_rank},
              {"efficiency", p.efficiency},
              {"half_size", p.half_size}};
  e.provenance = Provenance::published;
  return e;
}

// Every plain collective on both tiers, and the deduplicating dispatchers.
inline Profile collective_profile(const CollectiveParams& node, const CollectiveParams& fabric) {
  Profile profile;
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "dispatch_deepep",
                         "combine_deepep", "dispatch_hybridep", "combine_hybridep"}) {
    profile.entries.push_back(collective_entry(op, "node", node));
    profile.entries.push_back(collective_entry(op, "fabric", fabric));
  }
  return profile;
}

} // namespace tessella::testing
