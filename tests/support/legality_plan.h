// A small plan that is legal as it stands; tests change one value and look at the verdict.
#pragma once

#include <string>

#include "sim/domain/legality.h"

namespace tessella::test {

inline GroupedQueryAttention gqa(std::int64_t heads, std::int64_t kv_heads) {
  GroupedQueryAttention attention;
  attention.heads = heads;
  attention.kv_heads = kv_heads;
  attention.head_dim = 128;
  return attention;
}

inline LayerKind dense_kind() {
  return {"dense", gqa(64, 8), DenseFfn{.ffn_hidden_size = 16384}};
}

inline LayerKind moe_kind(std::int64_t experts = 64, std::int64_t topk = 8) {
  return {"moe", gqa(64, 8), MoeFfn{.num_experts = experts, .router_topk = topk, .moe_ffn_hidden_size = 1536}};
}

inline Model uniform_model(const LayerKind& kind, std::int64_t layers, std::int64_t mtp = 0) {
  Model m;
  m.name = "test";
  m.hidden_size = 4096;
  m.vocab_size = 32000;
  m.kinds = {kind};
  m.layers.assign(static_cast<std::size_t>(layers), 0);
  m.mtp_num_layers = mtp;
  return m;
}

struct TestPlan {
  Model model = uniform_model(dense_kind(), 32);
  Parallelism parallelism;
  Batch batch{1, 64, 4096};
  LayoutSpec layout;
  ScheduleSpec schedule;
  Recompute recompute;
  std::optional<std::int64_t> cluster_gpus;
  bool etp_was_defaulted = false;
  Dispatcher dispatcher = Dispatcher::alltoall;

  Verdict check() const {
    return check_legality(
        {model, parallelism, batch, layout, schedule, recompute, cluster_gpus, etp_was_defaulted, dispatcher});
  }
};

// One dense layer kind on nothing but pipeline ranks.
inline TestPlan pipeline(std::int64_t layers, std::int64_t pp, std::int64_t vpp = 1) {
  TestPlan p;
  p.model = uniform_model(dense_kind(), layers);
  p.parallelism = {.world_size = pp, .pp = pp, .vpp = vpp};
  return p;
}

// All messages and warnings of a verdict in one text each, for "mentions" checks.
inline std::string errors(const Verdict& v) {
  std::string text;
  for (const Violation& x : v.violations) text += x.key + ": " + x.message + "\n";
  return text;
}

inline std::string warnings(const Verdict& v) {
  std::string text;
  for (const std::string& w : v.warnings) text += w + "\n";
  return text;
}

inline std::string suggestions(const Verdict& v) {
  std::string text;
  for (const Violation& x : v.violations) text += x.suggestion + "\n";
  return text;
}

inline bool mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (text.find(word) == std::string::npos) return false;
  return true;
}

inline std::vector<std::int64_t> layers_per_stage(const Partition& p) {
  std::vector<std::int64_t> layers;
  for (const StageContent& s : p.stages) layers.push_back(s.num_layers);
  return layers;
}

inline std::vector<std::int64_t> layers_per_rank(const Partition& p, std::int64_t pp) {
  std::vector<std::int64_t> layers(static_cast<std::size_t>(pp), 0);
  for (std::size_t s = 0; s < p.stages.size(); ++s) layers[s % layers.size()] += p.stages[s].num_layers;
  return layers;
}

} // namespace tessella::test
