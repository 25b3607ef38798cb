// Flow-level simulation of the whole fabric: messages are fluids that share links max-min fairly along their routes;
// rates change when a message starts or ends. The oracle of the closed forms (sim/cost/wire.h), and exact for what
// those leave out: uneven groups, colliding hashes, unequal messages. Its own oracle is SimGrid.
//
// A message first waits the latency of its longest path, then flows. Its bytes are split evenly over its paths.
#pragma once

#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/topology/graph.h"
#include "sim/topology/traffic.h"

namespace tessella {

struct Flow {
  Rank from;
  Rank to;
  Bytes size;
  Time start;
  bool operator==(const Flow&) const = default;
};

// When each flow has arrived. A flow without links (to itself, or on an ideal cluster) arrives as it starts.
// O(events * uses of the active flows); an event is a set of flows that start or end together.
std::vector<Time> simulate_flows(const ClusterGraph& graph, std::span<const Flow> flows,
                                 Routing routing = Routing::fixed);

// The transfers of a collective (sim/topology/traffic.h) as flows that start together.
std::vector<Flow> flows_of(std::span<const Transfer> transfers, Time start = {});

} // namespace tessella
