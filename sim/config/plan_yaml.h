// plan.yaml: a finished plan in text, and back. Loading what was written gives an equal PlanFile, but for the wall time
// of the search.
//
//   plan: qwen3_235b_h100_256
//   schedule: {name: "interleaved_1f1b", overlap_moe_expert_parallel_comm: true}
//   overlap: {scheduler: align_defer, costs: "5f0c..."}      # how the pairs below were ordered, and for which costs
//   pairs: [{first: "4*moe", second: "4*moe", post_overlap: 3.1 ms, compute: [...], ep: [...]}]  # order_yaml.h
//   best: {name: "refined", layout: "Et|(tt|)*30mL", bottleneck: 3.1 ms, step_time: 13.2 s, free_bytes: 12}
//   certificate: {lower_bound: 12.9 s, limited_by: "...", surrogate_proven: true}
//   bounds: [{name: "...", value: 12.9 s}]
//   baselines: [{name: "uniform", layout: ..., ...}]
//   search: {solver: threshold, radius: 2, ...}
//   limits: ["..."]
//   what_ifs: [{change: "...", step_time: 13.0 s}]
//   inputs: [{file: "models/x.yaml", sha256: "..."}]
#pragma once

#include <filesystem>
#include <string>

#include "sim/domain/plan_file.h"

namespace tessella {

std::string to_yaml(const PlanFile& plan);

// Throws InputError.
PlanFile load_plan(const std::filesystem::path& file);
PlanFile load_plan_text(const std::string& file_name, const std::string& text);

} // namespace tessella
