// The rules behind check_legality(), one function per topic; internal to sim/domain.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/legality.h"

namespace tessella {

// What the rules write into. A judge without `suggest` is one that tries somebody else's suggestion.
struct Judge {
  const LegalityInput& in;
  Verdict& out;
  bool suggest = true;

  void violate(std::string key, std::string message, std::string suggestion = {}) {
    out.violations.push_back({std::move(key), std::move(message), std::move(suggestion), std::nullopt});
  }
  void warn(std::string text) { out.warnings.push_back(std::move(text)); }
};

using Rule = void (*)(Judge&);

void size_rules(Judge& judge);       // every size is at least 1
void dense_grid_rule(Judge& judge);  // world = TP * CP * DP * PP, and the world fits the cluster
void expert_grid_rule(Judge& judge); // world = ETP * EP * EDP * PP, and the two grids nest
void tensor_rules(Judge& judge);     // TP and ETP against heads and widths
void expert_rules(Judge& judge);     // experts, top-k, EP
void sequence_rules(Judge& judge);   // sequence against CP and TP
void partition_rules(Judge& judge);  // layers over stages; sets out.partition and out.vpp
void batch_rules(Judge& judge);      // global batch against DP
void schedule_rules(Judge& judge);   // chunks, micro-batch groups, EP overlap
void recompute_rules(Judge& judge);  // recompute modules that the model has

// All of them, in the order a user should mend the violations. Rules that divide by DP run only on a legal dense grid,
// those that look at the partition only when there is one.
void judge_all(Judge& judge);

// a * b * ..., at most the largest 64-bit value: inputs may be absurd.
std::int64_t saturating_product(std::initializer_list<std::int64_t> factors);

// The micro-batches of a step; nothing while the batch or the grid is illegal.
std::optional<std::int64_t> legal_micro_batches(const LegalityInput& in);

// Chunks per pipeline rank: from the layout string when there is a readable one, else as given.
std::int64_t chunks_per_rank(const LegalityInput& in);

// Distinct layer kinds in use, in order of first use, the MTP kind last.
std::vector<const LayerKind*> kinds_in_use(const Model& model);

// One size a suggestion may change.
struct Knob {
  const char* key;                      // Megatron's name
  std::int64_t Parallelism::*size;      // the member it sets
  std::vector<std::int64_t> candidates; // any order
};

// "key: value" for the first knob that has a value under which the whole plan is legal, nearest by ratio first; failing
// that, a value under which `rule` alone is content; failing that, "".
std::string nearest_plan(const Judge& judge, const std::vector<Knob>& knobs, Rule rule);

// "global_batch_size: value" likewise.
std::string nearest_batch(const Judge& judge, const std::vector<std::int64_t>& candidates, Rule rule);

// Divisors in ascending order; all of them for n up to 10^10, beyond that those up to 10^5 and their partners.
std::vector<std::int64_t> divisors(std::int64_t n);

} // namespace tessella
