// Is this plan legal, and if not, what is the nearest one that is? Pure rules over plain values, no simulation.
// Two grids, one rule each: world % (TP*CP*PP) == 0 and world % (ETP*EP*PP) == 0. Every violation names both numbers.
#pragma once

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
  std::string suggestion; // the nearest legal value, ready to paste; may be empty
  bool operator==(const Violation&) const = default;
};

struct Verdict {
  std::vector<Violation> violations; // in the order a user should mend them
  std::vector<std::string> warnings; // legal but worth knowing: empty stages, fewer micro-batches than stages, ...
  Partition partition;               // meaningful when there are no violations
  bool legal() const { return violations.empty(); }
};

struct LegalityInput {
  const Model& model;
  const Parallelism& parallelism;
  const Batch& batch;
  const LayoutSpec& layout;
  const ScheduleSpec& schedule;
  const Recompute& recompute;
  std::int64_t cluster_gpus = 0;
  bool etp_was_defaulted = false; // expert_tensor_parallel_size was not given and follows TP
};

Verdict check_legality(const LegalityInput& in);

} // namespace tessella
