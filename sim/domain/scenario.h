// Everything a run needs, resolved and checked: immutable, and free of input errors.
// sim/config/load.h makes one from an experiment file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/domain/adaptation.h"
#include "sim/domain/bubble_filler.h"
#include "sim/domain/cluster.h"
#include "sim/domain/model.h"
#include "sim/domain/pair_plan.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/plan.h"
#include "sim/domain/profile.h"
#include "sim/domain/routing.h"
#include "sim/domain/schedule.h"
#include "sim/domain/what_if_event.h"

namespace tessella {

enum class Precision { bf16, fp8 };
const char* name(Precision p);

enum class RecomputeGranularity { none, selective, full };

// Megatron's --recompute-modules.
enum class RecomputeModule { core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts };
const char* name(RecomputeModule m);

struct Recompute {
  RecomputeGranularity granularity = RecomputeGranularity::none;
  std::vector<RecomputeModule> modules; // selective only
  bool operator==(const Recompute&) const = default;
  bool has(RecomputeModule m) const;
};

enum class Dispatcher { alltoall, allgather, deepep, hybridep };
const char* name(Dispatcher d);

struct Batch {
  std::int64_t micro_batch_size = 1;
  std::int64_t global_batch_size = 1;
  std::int64_t seq_length = 1;
  bool operator==(const Batch&) const = default;
};

struct Optimizer {
  bool distributed = true;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  bool offload = false; // master weights and moments live in host memory between optimizer steps
  bool operator==(const Optimizer&) const = default;
};

// Relative standard deviation of each op's duration; 0 = deterministic kernels.
struct Jitter {
  double kernel = 0.0;
  double fabric = 0.0;
  bool operator==(const Jitter&) const = default;
};

enum class FlopsConvention { causal, full_attention };
const char* name(FlopsConvention c);

struct Scenario {
  std::string name;
  Model model;
  Cluster cluster;
  Profile profile;
  Parallelism parallelism;
  Batch batch;
  Precision precision = Precision::bf16;
  Recompute recompute;
  Dispatcher dispatcher = Dispatcher::alltoall;
  ScheduleSpec schedule;
  std::optional<Schedule> imported; // the order of schedule.file
  OverlapSpec overlap;
  Optimizer optimizer;
  RoutingSpec routing;
  Jitter jitter;
  BubbleFillerSpec bubble_filler;
  std::vector<WhatIfEvent> events;
  ExpertMigrationSpec expert_migration;
  ReplanSpec replan;
  FlopsConvention flops_convention = FlopsConvention::causal;
  Partition partition;
  std::uint64_t seed = 1;
  std::int64_t steps = 1;
  std::int64_t warm_up = 0;          // the first of them, simulated but left out of the statistics; < steps
  std::vector<std::string> warnings; // from loading and legality, shown once
  std::vector<std::pair<std::string, std::string>> inputs; // file -> sha256

  std::int64_t num_micro_batches() const {
    return batch.global_batch_size / (batch.micro_batch_size * parallelism.dp());
  }
  // Tokens of one micro-batch that a TP group sees (n in science/layer_costs.md).
  std::int64_t tokens_per_tp_group() const { return batch.micro_batch_size * batch.seq_length / parallelism.cp; }
};

} // namespace tessella
