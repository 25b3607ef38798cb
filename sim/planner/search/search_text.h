// Private to sim/planner/search: what a search says of the plan it found, and why it found none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/domain/search_result.h"
#include "sim/ledger/result.h"

namespace tessella {

// One sentence each: where the time goes, how near the bound is and what it comes from, memory, where experts talk.
std::vector<std::string> limits_of(const Scenario& scenario, const RankedPlan& plan, const std::string& bound_of,
                                   const RunResult& run);

// `broken`: of every configuration the key of the first rule it breaks.
std::string nothing_legal(const Scenario& scenario, const SearchCounts& counts, const std::vector<std::string>& broken);

// `leanest`: the legal scenario that lacks least.
std::string nothing_fits(const Scenario& leanest, Bytes free, const SearchCounts& counts);

// Every plan that was simulated fits at balanced load and not with its hottest rank.
std::string all_too_hot(const SearchCounts& counts);

} // namespace tessella
