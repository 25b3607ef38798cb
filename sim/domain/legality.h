// Is this plan legal, and if not, what is the nearest one that is? Pure rules over plain values, no simulation.
// Two grids, one rule each: world % (TP*CP*PP) == 0 and world % (ETP*EP*PP) == 0. Every violation names both numbers.
// Nothing is ever floored: a plan that would lose a layer, a sample or a GPU is refused.
//
// Rules are Megatron-LM's (arguments.py, transformer_config.py, pipeline_parallel_layer_layout.py, schedules.py)
// except where a message says "Tessella". A suggestion is tried before it is made: applying it makes the whole plan
// legal, or, where other violations remain, mends the one it stands next to.
//
// The schedule table (sim/schedule) has constraints of its own per schedule name; here only those that Megatron ties
// to the batch and the chunks. "1f1b" with several chunks per rank is interleaved 1F1B, as in Megatron.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/layout.h"
#include "sim/domain/model.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"

namespace tessella {

struct Violation {
  std::string key;     // dotted path of the experiment key to point at, e.g. "parallelism.expert_model_parallel_size"
  std::string message; // the rule in words with both numbers
  std::string suggestion; // "key: value" of the nearest legal plan, ready to paste (may carry a # comment); may be ""
  std::optional<int> column = {}; // where inside the key's value, from 1; layout strings only
  bool operator==(const Violation&) const = default;
};

struct Verdict {
  std::vector<Violation> violations; // in the order a user should mend them
  std::vector<std::string> warnings; // worth knowing, legal or not: empty stages, fewer micro-batches than stages, ...
  // The following are meaningful when there are no violations.
  Partition partition;  // PP * vpp stages
  std::int64_t vpp = 1; // chunks per pipeline rank; a layout string determines it, whatever Parallelism says
  bool legal() const { return violations.empty(); }
};

struct LegalityInput {
  const Model& model;
  const Parallelism& parallelism; // vpp 1 = not given when there is a layout string
  const Batch& batch;
  const LayoutSpec& layout;
  const ScheduleSpec& schedule;
  const Recompute& recompute;
  std::optional<std::int64_t> cluster_gpus = {}; // nothing: not known, no rule
  bool etp_was_defaulted = false;                // expert_tensor_parallel_size was not given and follows TP
  Dispatcher dispatcher = Dispatcher::alltoall;
};

// O(stages + layers). With suggestions an illegal plan also pays for their trial, some dozens of checks; a search over
// many plans leaves them out.
Verdict check_legality(const LegalityInput& in, bool with_suggestions = true);

} // namespace tessella
