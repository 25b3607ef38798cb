#include "sim/topology/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/rng.h"
#include "sim/topology/fabric_plan.h"

namespace tessella {
namespace {

struct EdgeLink {
  std::int32_t link = 0;
};
using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, EdgeLink, boost::no_property,
                                                 std::int32_t, std::int32_t>;

Graph make_graph(std::int64_t num_vertices, const std::vector<GraphLink>& links) {
  std::vector<std::pair<std::int32_t, std::int32_t>> ends;
  std::vector<EdgeLink> edges;
  ends.reserve(links.size());
  edges.reserve(links.size());
  for (const GraphLink& l : links) {
    edges.push_back({static_cast<std::int32_t>(ends.size())});
    ends.emplace_back(l.from, l.to);
  }
  return Graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), edges.begin(),
               static_cast<std::int32_t>(num_vertices));
}

// Picks one of n equal choices.
struct Chooser {
  Routing routing = Routing::fixed;
  std::uint64_t flow = 0;
  std::int64_t destination = 0; // a number that is consecutive over consecutive destinations

  std::int64_t pick(std::int64_t n) const {
    if (routing == Routing::fixed) return destination % n;
    return static_cast<std::int64_t>(mix64(flow + 0x9e3779b97f4a7c15ULL) % static_cast<std::uint64_t>(n));
  }
};

// The switches between two leaves, both included.
void append_switches(const FabricPlan& p, std::int64_t from, std::int64_t to, std::int64_t rail, std::int64_t plane,
                     const Chooser& choose, std::vector<std::int64_t>& path) {
  path.push_back(from);
  if (from == to) return;
  if (p.kind != FabricKind::dragonfly) {
    path.push_back(p.spine(rail, plane, choose.pick(p.uplinks)));
    path.push_back(to);
    return;
  }
  const std::int64_t base = p.leaf_vertex(0, 0, plane);
  const std::int64_t a = (from - base) / p.switches_per_group;
  const std::int64_t b = (to - base) / p.switches_per_group;
  if (a != b) {
    const std::int64_t k = choose.pick(p.links_per_pair);
    const std::int64_t out = p.leaf_vertex(a * p.switches_per_group + p.gateway(a, b, k), 0, plane);
    const std::int64_t in = p.leaf_vertex(b * p.switches_per_group + p.gateway(b, a, k), 0, plane);
    if (out != from) path.push_back(out);
    if (in != to) path.push_back(in);
  }
  path.push_back(to);
}

// The vertices from one GPU to another on one of the lanes (NIC of the GPU, plane).
std::vector<std::int64_t> vertices(const FabricPlan& p, std::int64_t from, std::int64_t to, std::int64_t lane,
                                   Chooser choose) {
  const std::int64_t a = from / p.gpus;
  const std::int64_t b = to / p.gpus;
  if (a == b) return {from, p.scale_up(a), to};
  const std::int64_t offset = lane / p.planes;
  const std::int64_t plane = lane % p.planes;
  const std::int64_t in = p.first_nic(to % p.gpus) + offset;
  std::int64_t out = p.first_nic(from % p.gpus) + offset;
  std::vector<std::int64_t> path{from};
  if (p.rails > 1 && out != in) { // forward to the GPU on the destination's rail
    path.push_back(p.scale_up(a));
    path.push_back(a * p.gpus + to % p.gpus);
    out = in;
  }
  choose.destination = p.rails > 1 ? b % p.nodes_per_leaf : (b % p.nodes_per_leaf) * p.nics + in;
  path.push_back(p.nic(a, out));
  append_switches(p, p.leaf(a, out, plane), p.leaf(b, in, plane), p.rails > 1 ? out : 0, plane, choose, path);
  path.push_back(p.nic(b, in));
  path.push_back(to);
  return path;
}

} // namespace

const char* name(LinkKind kind) {
  constexpr std::array names = {"host", "scale_up", "nic", "leaf_to_spine", "local", "global"};
  return names[static_cast<std::size_t>(kind)];
}

struct ClusterGraph::Impl {
  FabricPlan plan;
  std::vector<GraphLink> links;
  Graph graph;

  explicit Impl(const Cluster& cluster)
      : plan(cluster), links(build_links(cluster, plan)), graph(make_graph(plan.num_vertices(), links)) {}

  // One of the parallel links from u to v.
  LinkIndex between(std::int64_t u, std::int64_t v, const Chooser& choose) const {
    std::vector<std::int32_t> found;
    const auto [first, last] = boost::out_edges(static_cast<std::int32_t>(u), graph);
    for (auto e = first; e != last; ++e)
      if (boost::target(*e, graph) == v) found.push_back(graph[*e].link);
    TSL_CHECK(!found.empty());
    return LinkIndex(found[static_cast<std::size_t>(choose.pick(static_cast<std::int64_t>(found.size())))]);
  }
};

ClusterGraph::ClusterGraph(const Cluster& cluster) : impl_(std::make_unique<Impl>(cluster)) {}
ClusterGraph::~ClusterGraph() = default;
ClusterGraph::ClusterGraph(ClusterGraph&&) noexcept = default;
ClusterGraph& ClusterGraph::operator=(ClusterGraph&&) noexcept = default;

std::span<const GraphLink> ClusterGraph::links() const {
  return impl_->links;
}

std::int64_t ClusterGraph::num_vertices() const {
  return impl_->plan.num_vertices();
}

std::string ClusterGraph::vertex_name(std::int32_t vertex) const {
  const FabricPlan& p = impl_->plan;
  const std::pair<std::int64_t, const char*> kinds[] = {
      {p.spine_base(), "spine"}, {p.leaf_base(), "leaf"}, {p.nic_base(), "nic"}, {p.scale_up_base(), "node"}};
  for (const auto& [base, what] : kinds)
    if (vertex >= base) return fmt::format("{} {}", what, vertex - base);
  return fmt::format("gpu {}", vertex);
}

std::string ClusterGraph::link_name(LinkIndex link) const {
  const GraphLink& l = impl_->links[static_cast<std::size_t>(link.value)];
  return fmt::format("{}: {} -> {}", name(l.kind), vertex_name(l.from), vertex_name(l.to));
}

std::vector<Path> ClusterGraph::paths(Rank from, Rank to, Routing routing, std::uint64_t flow) const {
  const FabricPlan& p = impl_->plan;
  if (p.kind == FabricKind::ideal || from == to) return {};
  TSL_CHECK(from.value >= 0 && to.value >= 0 && std::max(from.value, to.value) < p.nodes * p.gpus);
  const bool inside = from.value / p.gpus == to.value / p.gpus;
  const std::int64_t lanes = inside ? 1 : p.nics_per_gpu() * p.planes;
  std::vector<Path> result;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const Chooser choose{routing, flow * static_cast<std::uint64_t>(lanes) + static_cast<std::uint64_t>(lane), 0};
    const std::vector<std::int64_t> hops = vertices(p, from.value, to.value, lane, choose);
    Path path;
    for (std::size_t i = 0; i + 1 < hops.size(); ++i)
      path.push_back(impl_->between(hops[i], hops[i + 1], Chooser{routing, choose.flow, to.value}));
    result.push_back(std::move(path));
  }
  return result;
}

Duration latency(const ClusterGraph& graph, const Path& path) {
  Duration sum;
  for (const LinkIndex l : path) sum += graph.links()[static_cast<std::size_t>(l.value)].latency;
  return sum;
}

} // namespace tessella
