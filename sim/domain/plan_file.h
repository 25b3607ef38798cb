// A finished plan: the partition and schedule to run, how it compares with what other systems would choose, and the
// proof of how far it can be from optimal. sim/config/plan_yaml.h reads and writes it; reports render it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

// One row of the table of plans: a partition and what it does.
struct PlanRow {
  std::string name; // uniform, layer_count, flops, serial, additive, given, overlap, refined
  Partition partition;
  Duration bottleneck; // largest edge: the surrogate
  Duration step_time;  // simulated
  Bytes free;          // on the fullest rank at balanced load; negative: does not fit
  bool operator==(const PlanRow&) const = default;

  bool fits() const { return free.count >= 0; }
};

struct PlanBound {
  std::string name;
  Duration value;
  bool operator==(const PlanBound&) const = default;
};

// Lower bounds on the step time of every partition of this model on this cluster under this schedule.
struct PlanCertificate {
  Duration lower_bound;
  std::string limited_by;
  std::vector<PlanBound> bounds;
  bool surrogate_proven = false; // no partition in the neighbourhood has a smaller bottleneck edge
  bool operator==(const PlanCertificate&) const = default;

  double gap(Duration step) const;            // (step - bound) / bound
  std::string statement(Duration step) const; // "optimal" or "within 3.1 % of optimal"
};

struct PlanSearch {
  std::string solver;  // threshold | cbc
  double wall_s = 0.0; // solving alone, once all pairs are priced and pruned
  std::int32_t radius = 0;
  std::int64_t variables = 0;
  std::int64_t variables_pruned = 0;
  std::int64_t pairs_distinct = 0;
  std::int64_t pairs_cached = 0;
  std::int64_t simulations = 0;
  bool operator==(const PlanSearch&) const = default;
};

// What one more unit of something would buy, by simulating the plan with it.
struct PlanWhatIf {
  std::string change; // "NIC bandwidth +10 %"
  Duration step_time;
  bool operator==(const PlanWhatIf&) const = default;
};

// How each distinct pair of the plan shares its GPU.
struct PlanPairs {
  std::string scheduler = "megatron";
  std::string costs; // SHA-256 of the costs that the orders were made for
  std::vector<PairOrder> orders;
  bool operator==(const PlanPairs&) const = default;
};

// Where experts and their replicas live instead of in their order, by MoE layer (RoutingSpec::expert_at).
struct PlanExperts {
  std::string method;       // migrated, or eplb with replicas
  double load_before = 1.0; // fullest EP rank over the mean, mean over layers
  double load_after = 1.0;
  std::vector<std::vector<std::int32_t>> expert_at; // [MoE layer][slot]
  bool operator==(const PlanExperts&) const = default;
};

struct PlanFile {
  std::string experiment;
  PlanRow best;
  std::vector<PlanRow> baselines;
  ScheduleSpec schedule;
  PlanPairs pairs; // empty when the schedule has none
  PlanCertificate certificate;
  PlanSearch search;
  std::optional<PlanExperts> experts;
  std::vector<std::string> limits; // what holds the plan back, one sentence each
  std::vector<PlanWhatIf> what_ifs;
  std::vector<std::pair<std::string, std::string>> inputs; // file -> sha256
  bool operator==(const PlanFile&) const = default;
};

// Makes the scenario run the plan. What keeps it from that comes back in words, and the scenario stays as it is:
// another schedule, other numbers of stages or layers, or an input that has changed since the plan was made (its file
// is named). `renew` is the command that makes the plan anew, for the message. Whether the orders of its pairs are
// still those of the scenario's costs is another question (sim/planner/overlap/pair_orders.h).
std::optional<std::string> adopt_plan(const PlanFile& plan, const std::string& renew, Scenario& scenario);

} // namespace tessella
