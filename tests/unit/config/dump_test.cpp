// to_yaml() is a right inverse of the loaders: what it writes loads back equal.
#include "sim/config/dump.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/config/flow_map.h"
#include "sim/config/load.h"

using namespace tessella;

namespace {

Model every_kind() {
  Model m{.name = "every_kind", .kinds = {}, .layers = {}, .source = {}};
  m.source = "a \"quoted\" source,\nover two lines \\ with: marks # and \xc3\xa9";
  m.assumed = true;
  m.hidden_size = 2880;
  m.vocab_size = 201088;
  m.tie_embeddings = true;
  m.kinds = {
      {"gdn", GatedDeltaNet{16, 32, 128, 64, 4}, MoeFfn{512, 10, 512, true, false, false, 256, true, 1, 1}},
      {"full", GroupedQueryAttention{16, 2, 256, 128, true, true, true, true, true}, DenseFfn{6144, false}},
      {"plain", GroupedQueryAttention{16, 16, 64, {}, false, false, false, false, false}, DenseFfn{4096, true}},
      {"latent", MultiLatentAttention{128, 1536, 512, 128, 64, 96},
       MoeFfn{256, 8, 2048, false, true, true, 0, false, 8, 4}},
      {"direct", MultiLatentAttention{128, {}, 512, 128, 64, 96}, DenseFfn{1, true}},
      {"mixer", Mamba2{128, 64, 96, 8, 4, 256}, NoFfn{}},
      {"experts", NoAttention{}, MoeFfn{8, 2, 64, false, false, true, 32, false, 1, 1, 16}},
  };
  m.layers = {2, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 3, 4, 5, 6, 5, 6};
  m.mtp_num_layers = 2;
  m.mtp_kind = 3;
  m.mtp_use_repeated_layer = true;
  return m;
}

Cluster cluster_of(FabricKind kind) {
  Cluster c{.name = "test", .gpu = "h100_sxm", .node = {}, .fabric = {}, .source = "made up"};
  c.nodes = kind == FabricKind::single_node ? 1 : 64;
  c.node.gpus = 8;
  c.node.scale_up = {{450e9}, {1234567}, "a"};
  c.fabric.kind = kind;
  c.fabric.source = std::string("elsewhere");
  if (kind == FabricKind::single_node || kind == FabricKind::ideal) return c;
  c.node.nics = 4;
  c.node.nic = {{1e11 / 3.0}, {0}, "b"};
  c.fabric.planes = 2;
  c.fabric.switch_latency = {300001};
  if (kind == FabricKind::dragonfly) {
    c.fabric.switches_per_group = 4;
    c.fabric.nodes_per_group = 16;
    c.fabric.links_per_group_pair = 3;
    c.fabric.local_link = {{25e9}, {1}, "c"};
    c.fabric.global_link = {{12.5e9}, {2000000}, "d"};
  } else {
    c.fabric.nodes_per_leaf = 16;
    c.fabric.leaf_to_spine = {{50e9}, {500000}, "e"};
    c.fabric.oversubscription = 4.0 / 3.0;
  }
  return c;
}

} // namespace

TEST_CASE("dump: a model loads back equal, blocks folded") {
  const Model m = every_kind();
  const std::string text = to_yaml(m);
  CHECK(load_model_text("m.yaml", text) == m);
  CHECK(to_yaml(load_model_text("m.yaml", text)) == text);
  CHECK(text.find("{repeat: 3, layers: [{kind: gdn, count: 3}, {kind: full, count: 1}]}") != std::string::npos);
  CHECK(text.find("{kind: plain, count: 2}") != std::string::npos);
}

TEST_CASE("dump: clusters of every fabric load back equal") {
  for (const FabricKind kind : {FabricKind::ideal, FabricKind::single_node, FabricKind::rail_optimized,
                                FabricKind::fat_tree, FabricKind::dragonfly}) {
    const Cluster c = cluster_of(kind);
    INFO(to_yaml(c));
    CHECK(load_topology_text("t.yaml", to_yaml(c)) == c);
  }
  Cluster bare = cluster_of(FabricKind::ideal);
  bare.node.scale_up = {};
  CHECK(load_topology_text("t.yaml", to_yaml(bare)) == bare);
}

TEST_CASE("dump: a profile loads back equal") {
  Profile p{.name = "g/2026-01-01-x", .gpu = {}, .entries = {}};
  p.gpu = {"g", 132, {989.4e12}, {0.0}, {3.35e12}, {85899345920}, "vendor"};
  p.entries = {
      {"all_to_all",
       "",
       "fabric",
       "collective",
       {{"latency", 8e-6 / 3}, {"latency_per_rank", 0.0}, {"efficiency", 0.1 + 0.2}, {"half_size", 1e6 / 7}},
       Provenance::measured,
       "x",
       Residual{0.021, 1.0 / 3.0, 512}},
      {"adam", "fp8", "", "stream", {{"launch", 3e-6}, {"bandwidth", 2.8e12}}, Provenance::derived, "y", {}},
  };
  CHECK(load_profile_text("p.yaml", to_yaml(p)) == p);
  CHECK(to_yaml(p).find("launch: 3 us, bandwidth: 2.8 TB/s") != std::string::npos);
}

TEST_CASE("dump: text is quoted so that it reads back") {
  CHECK(quote_yaml("plain") == "\"plain\"");
  CHECK(quote_yaml("a\"b\\c\nd\x01") == "\"a\\\"b\\\\c\\nd\\x01\"");
}
