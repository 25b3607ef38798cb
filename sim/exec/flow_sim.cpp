#include "sim/exec/flow_sim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.h"
#include "sim/engine/fair_share.h"

namespace tessella {
namespace {

// Relative size of what counts as nothing left: far above rounding, far below a packet.
constexpr double kNothing = 1e-12;

struct Moving {
  std::size_t flow = 0;
  double left = 0.0; // bytes
};

struct Network {
  std::vector<double> capacities;             // per link that some flow uses, in order of first use
  std::vector<std::vector<ResourceUse>> uses; // per flow; empty: free
  std::vector<double> ready;                  // per flow: seconds when its first byte may move
};

// Links of infinite bandwidth hold nobody up and are left out.
Network route(const ClusterGraph& graph, std::span<const Flow> flows, Routing routing) {
  Network net;
  std::vector<std::int32_t> place(graph.links().size()); // 1 + index in capacities; 0: not used yet
  const auto resource = [&](LinkIndex l) {
    std::int32_t& at = place[static_cast<std::size_t>(l.value)];
    if (at == 0) {
      net.capacities.push_back(graph.links()[static_cast<std::size_t>(l.value)].bandwidth.bytes_per_second);
      at = static_cast<std::int32_t>(net.capacities.size());
    }
    return at - 1;
  };
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::vector<Path> paths = graph.paths(flows[i].from, flows[i].to, routing, i);
    Duration longest;
    net.uses.emplace_back();
    for (const Path& path : paths) {
      longest = max(longest, latency(graph, path));
      for (const LinkIndex l : path)
        if (std::isfinite(graph.links()[static_cast<std::size_t>(l.value)].bandwidth.bytes_per_second))
          net.uses.back().push_back({resource(l), 1.0 / static_cast<double>(paths.size())});
    }
    net.ready.push_back((flows[i].start + longest).seconds());
  }
  return net;
}

// The flows by the time they are ready; ties in flow order.
std::vector<std::size_t> arrival_order(const Network& net) {
  std::vector<std::size_t> order(net.ready.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return net.ready[a] < net.ready[b]; });
  return order;
}

std::vector<double> rates_of(const Network& net, const std::vector<Moving>& moving) {
  std::vector<std::vector<ResourceUse>> users;
  users.reserve(moving.size());
  for (const Moving& m : moving) users.push_back(net.uses[m.flow]);
  return max_min_rates(net.capacities, users);
}

// Seconds until the first of the moving flows ends.
double until_first_end(const std::vector<Moving>& moving, const std::vector<double>& rates) {
  double wait = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < moving.size(); ++i) wait = std::min(wait, moving[i].left / rates[i]);
  return wait;
}

} // namespace

std::vector<Time> simulate_flows(const ClusterGraph& graph, std::span<const Flow> flows, Routing routing) {
  const Network net = route(graph, flows, routing);
  const std::vector<std::size_t> order = arrival_order(net);
  std::vector<Time> ends(flows.size());
  std::vector<Moving> moving;
  std::size_t next = 0; // in order
  double now = 0.0;
  const auto finish = [&](std::size_t flow) { ends[flow] = Time{} + round_to_picoseconds(now); };
  while (next < order.size() || !moving.empty()) {
    if (moving.empty()) now = net.ready[order[next]];
    for (; next < order.size() && net.ready[order[next]] <= now; ++next) {
      const std::size_t flow = order[next];
      if (net.uses[flow].empty() || flows[flow].size.count == 0)
        finish(flow);
      else
        moving.push_back({flow, static_cast<double>(flows[flow].size.count)});
    }
    if (moving.empty()) continue;
    const std::vector<double> rates = rates_of(net, moving);
    const double to_end = until_first_end(moving, rates);
    const double to_start = next < order.size() ? net.ready[order[next]] - now : to_end;
    const double step = std::min(to_end, to_start);
    TSL_CHECK(std::isfinite(step)); // a link without capacity would never deliver
    now = to_start < to_end ? net.ready[order[next]] : now + step;
    std::vector<Moving> still;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      const double left = moving[i].left - rates[i] * step;
      if (left > kNothing * static_cast<double>(flows[moving[i].flow].size.count))
        still.push_back({moving[i].flow, left});
      else
        finish(moving[i].flow);
    }
    moving = std::move(still);
  }
  return ends;
}

std::vector<Flow> flows_of(std::span<const Transfer> transfers, Time start) {
  std::vector<Flow> flows;
  for (const Transfer& t : transfers) flows.push_back({t.from, t.to, Bytes{std::llround(t.bytes)}, start});
  return flows;
}

} // namespace tessella
