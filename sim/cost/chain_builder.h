// Collects the kernels and collectives of one pass in stream order and fuses neighbours into ops: compute kernels of
// the same role become one OpCost until a collective, another role, or cut() ends it.
//
//   ChainBuilder b("_fwd", routed_rows);
//   b.section(Role::attention, "norm_1");  b.kernel(...);
//   b.collective(OpClass::tp, tp, detail);
//   b.section(Role::attention, "qkv");     b.kernel(...);
//   b.take();                              // norm_1_fwd, tp_ag_fwd, qkv_fwd
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cost/layer_ops.h"

namespace tessella {

// The detail of a kernel or collective whose cost depends on the routed rows.
using ByLoad = std::function<OpDetail(std::int64_t rows)>;

class ChainBuilder {
 public:
  // `suffix` ends every op name. `balanced_rows` = routed rows of a balanced rank; curves are sampled around it, and
  // without `varies` (one rank holds all experts) costs are taken at it.
  // The host issues one kernel in the duration of `host_op`: an op of n kernels takes at least n times that, and a last
  // detail holds the difference.
  ChainBuilder(std::string suffix, std::int64_t balanced_rows, bool varies, OpDetail host_op);

  // Ops from here on have this role. An op with kernels of one section is named after it, else after its role.
  void section(Role role, const std::string& name);
  // Prefix of the details that follow ("rc_" while recomputing).
  void prefix(const std::string& text) { prefix_ = text; }

  void kernel(OpDetail detail);
  void kernel_by_load(ByLoad cost);
  // A collective over `sync_width` consecutive ranks; the detail's name names the op.
  void collective(OpClass cls, std::int64_t sync_width, OpDetail detail);
  void collective_by_load(OpClass cls, std::int64_t sync_width, ByLoad cost);
  // A collective that runs under the kernels just added: only what outlasts `behind` is an op; when nothing does, the
  // collective stays as a detail of duration 0 (its bytes still move).
  void hidden_collective(OpClass cls, std::int64_t sync_width, OpDetail detail, Duration behind);
  // Ends the op at hand.
  void cut();

  std::vector<OpCost> take();

 private:
  struct Part {
    OpDetail fixed;
    ByLoad by_load; // empty: fixed
  };
  void note_prefix();
  OpCost make_op(const std::string& name, OpClass cls, std::int64_t sync_width, const std::vector<Part>& parts) const;

  std::string suffix_;
  std::string prefix_;
  std::string op_prefix_; // of the op at hand
  std::int64_t balanced_rows_;
  bool varies_;
  OpDetail host_op_;
  Role role_ = Role::attention;
  std::string section_;
  bool several_sections_ = false;
  std::vector<Part> pending_;
  std::vector<OpCost> ops_;
};

} // namespace tessella
