// Orders of pairs in text, and back: files of their own, and the list `pairs` of a plan.yaml (plan_yaml.h).
//
//   first: "2*gdn_moe"                # what both chunks hold; without: every pair that has these tasks
//   second: "gdn_moe+full_moe"
//   post_overlap: 21.385 ms           # optional, for people
//   passes: [F, B]
//   compute: [F_ATTN.0, B_MLP.1, ...]
//   ep: [B_COMB.1, F_DISP.0, ...]
//
// or several of these as items of a list `pairs:`. Whether the tasks exist in a pair is another question
// (sim/planner/overlap/pair_orders.h); where they stand in the file is answered here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/node.h"
#include "sim/config/reader.h"
#include "sim/domain/pair_plan.h"

namespace tessella {

// One order as lines of YAML, each behind `indent`, the first behind `first_indent`.
std::string to_yaml(const PairOrder& order, const std::string& first_indent = "", const std::string& indent = "");

// One order in its map.
PairOrder read_pair_order(const Node& node, Problems& problems);

// The orders of a file of orders or of a plan. Throws InputError.
std::vector<PairOrder> load_pair_orders(const std::filesystem::path& file);
std::vector<PairOrder> load_pair_orders_text(const std::string& file_name, const std::string& text);

// Where order number `order` of such a text stands, and where its task number `task` on a lane: "compute" or "ep".
struct TaskPlace {
  std::size_t order = 0;
  std::string lane; // empty: the order itself
  std::size_t task = 0;
};
SourceSpan position_of(const std::string& file_name, const std::string& text, const TaskPlace& place);

} // namespace tessella
