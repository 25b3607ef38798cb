// Which pairs of chunks a planner may want to know the cost of (Tessera, OSDI '26, section 3.1): the overlap graph of a
// schedule, and the chunks its stages can become when their boundaries move.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "sim/domain/plan.h"
#include "sim/domain/schedule.h"
#include "sim/planner/overlap/cost_table.h"

namespace tessella {

// (stage of the forward, stage of the full backward) of every co-scheduled pair. O(actions).
std::set<std::pair<std::int32_t, std::int32_t>> overlap_edges(const Schedule& schedule);

// What a stage can hold when each of its two boundaries moves by up to `radius` layers and at least one layer stays;
// the model's first and last layer, embedding, head and MTP layers stay where they are. Distinct, sorted.
std::vector<ChunkSpec> candidate_chunks(const Model& model, const Partition& partition, std::size_t stage,
                                        std::int32_t radius);

// All pairs of candidates along the edges. Distinct, sorted.
std::vector<ChunkPair> candidate_pairs(const Model& model, const Partition& partition, const Schedule& schedule,
                                       std::int32_t radius);

} // namespace tessella
