// topologies/NAME.yaml -> Cluster.
#include <fmt/format.h>

#include "sim/config/document.h"
#include "sim/config/file_role.h"
#include "sim/config/input_limits.h"
#include "sim/config/load.h"
#include "sim/config/words.h"

namespace tessella {
namespace {

// A link without a source of its own has that of the section around it.
struct LinkReader {
  Problems& problems;
  const std::string& source;

  Link operator()(const Node& node) const {
    Link link;
    MapReader map(node, problems, "the link");
    map.required("bandwidth", link.bandwidth, read_bandwidth);
    map.required("latency", link.latency, read_duration);
    link.source = source;
    map.optional("source", link.source, read_text);
    map.done();
    return link;
  }
};

NodeSpec read_node(const Node& node, FabricKind kind, const std::string& source, Problems& problems) {
  NodeSpec spec;
  MapReader map(node, problems, "the node");
  map.required("gpus", spec.gpus, Count("gpus"));
  const LinkReader link{problems, source};
  if (kind == FabricKind::ideal)
    map.optional("scale_up", spec.scale_up, link);
  else
    map.required("scale_up", spec.scale_up, link);
  if (kind == FabricKind::ideal || kind == FabricKind::single_node) {
    map.optional("nics", spec.nics, Count("nics", 0));
    if (spec.nics > 0)
      map.required("nic", spec.nic, link);
    else
      map.refuse("nic", "the node has no nics");
  } else {
    map.required("nics", spec.nics, Count("nics"));
    map.required("nic", spec.nic, link);
  }
  map.done();
  return spec;
}

void read_switched(MapReader& map, std::int64_t nodes, FabricSpec& f, const LinkReader& link) {
  map.optional("planes", f.planes, Count("planes"));
  map.required("nodes_per_leaf", f.nodes_per_leaf, Count("nodes_per_leaf"));
  if (nodes > f.nodes_per_leaf)
    map.required("leaf_to_spine", f.leaf_to_spine, link);
  else // one leaf group holds every node: nothing goes up
    map.optional("leaf_to_spine", f.leaf_to_spine, link);
  map.optional("oversubscription", f.oversubscription,
               Number{"oversubscription", 0.01, static_cast<double>(limit("oversubscription"))});
  map.required("switch_latency", f.switch_latency, read_duration);
}

void read_dragonfly(MapReader& map, FabricSpec& f, const LinkReader& link) {
  map.optional("planes", f.planes, Count("planes"));
  map.required("switches_per_group", f.switches_per_group, Count("switches_per_group"));
  map.required("nodes_per_group", f.nodes_per_group, Count("nodes_per_group"));
  map.required("links_per_group_pair", f.links_per_group_pair, Count("links_per_group_pair"));
  map.required("local_link", f.local_link, link);
  map.required("global_link", f.global_link, link);
  map.required("switch_latency", f.switch_latency, read_duration);
}

void refuse_all(MapReader& map, std::initializer_list<std::string_view> keys, std::string_view kind) {
  for (const std::string_view key : keys) map.refuse(key, fmt::format("the fabric is {}", kind));
}

FabricSpec read_fabric(const Node& node, const Cluster& cluster, Problems& problems) {
  FabricSpec f;
  MapReader map(node, problems, "the fabric");
  const Node* kind = map.find("kind");
  if (!kind) throw InputError(node.where(), "missing key 'kind' in the fabric");
  f.kind = read_choice<FabricKind>(*kind, "kind of fabric", kFabricKinds);
  f.source = cluster.source;
  map.optional("source", f.source, read_text);
  const LinkReader link{problems, f.source};
  const std::string_view kind_word = word(kFabricKinds, f.kind);
  const bool switched = f.kind == FabricKind::rail_optimized || f.kind == FabricKind::fat_tree;
  if (switched)
    read_switched(map, cluster.nodes, f, link);
  else
    refuse_all(map, {"nodes_per_leaf", "leaf_to_spine", "oversubscription"}, kind_word);
  if (f.kind == FabricKind::dragonfly)
    read_dragonfly(map, f, link);
  else
    refuse_all(map, {"switches_per_group", "nodes_per_group", "links_per_group_pair", "local_link", "global_link"},
               kind_word);
  if (!switched && f.kind != FabricKind::dragonfly) refuse_all(map, {"planes", "switch_latency"}, kind_word);
  map.done();
  return f;
}

Cluster read_topology(const Node& root, Problems& problems) {
  Cluster c;
  MapReader map(root, problems, "the topology");
  map.required("topology", c.name, read_name);
  map.required("source", c.source, read_text);
  map.required("gpu", c.gpu, read_name);
  map.required("nodes", c.nodes, Count("nodes"));
  map.required("fabric", c.fabric, [&](const Node& n) { return read_fabric(n, c, problems); });
  map.required("node", c.node, [&](const Node& n) { return read_node(n, c.fabric.kind, c.source, problems); });
  map.done();
  if (c.num_gpus() > limit("gpus"))
    map.problem("nodes", fmt::format("nodes * gpus is {}, above the limit of {}", c.num_gpus(), limit("gpus")));
  if (c.fabric.kind == FabricKind::single_node && c.nodes > 1)
    map.problem("nodes", fmt::format("nodes is {}, but the fabric is single_node", c.nodes));
  return c;
}

} // namespace

Cluster load_topology(const std::filesystem::path& file) {
  return load_topology_text(display_path(file), read_file(file));
}

Cluster load_topology_text(const std::string& file_name, const std::string& text, Overrides overrides) {
  require_role(file_name, text, FileRole::topology);
  return read_document<Cluster>(file_name, text, read_topology, "topology", overrides);
}

} // namespace tessella
