// The list `events:` of an experiment: what happens to the job at which steps (domain/what_if_event.h).
//
//   events:
//     - {steps: 10-20, slow_gpu: {rank: 5, factor: 1.3}}
//     - {steps: 30-, move_layers: {layout: "Et*5|t*3L"}}
//
// `steps` is one number, a range with both ends included, or "from-". Every item has exactly one of slow_gpu, slow_nic,
// slow_link, failed_rail, jitter, move_layers, dense_circuit, work_stealing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/reader.h"
#include "sim/domain/scenario.h"

namespace tessella {

// `where` receives the position of what happens, item by item.
std::vector<WhatIfEvent> read_events(const Node& node, Problems& problems, std::vector<SourceSpan>& where);

// Why an event cannot happen to this job: ranks, rails and steps that do not exist. Layouts are checked elsewhere.
std::optional<std::string> check_event(const WhatIfEvent& event, const Scenario& scenario);

} // namespace tessella
