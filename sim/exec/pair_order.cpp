#include "sim/exec/pair_order.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"

namespace tessella {
namespace {

struct Node {
  Op op;
  std::vector<std::size_t> after; // nodes it depends on
  Role role = Role::attention;
};

class PairBuilder {
 public:
  explicit PairBuilder(bool delay_wgrad) : delay_wgrad_(delay_wgrad) {}

  // Appends the items with this role to the lanes, in chain order within their half.
  void add(std::uint8_t half, std::span<const PieceOps::Item> items, Role role) {
    for (const PieceOps::Item& item : items)
      if (item.role == role) add_to_chain(half, item);
  }
  // The same for the items of one lane only.
  void add(std::uint8_t half, std::span<const PieceOps::Item> items, Role role, OpLane lane) {
    for (const PieceOps::Item& item : items)
      if (item.role == role && lane_of(item.op) == lane) add_to_chain(half, item);
  }
  // Weight gradients follow the last op of the backward chain so far; undelayed, the chain goes on behind them.
  void add_wgrad(std::span<const PieceOps::Item> items, Role role) {
    for (const PieceOps::Item& item : items) {
      if (item.role != role) continue;
      const std::optional<std::size_t> input = chain_[1];
      const std::size_t node = add_to_chain(1, item);
      if (delay_wgrad_) chain_[1] = input ? input : node;
    }
  }

  Template build() const;

 private:
  // Compute that waits for an exchange right after MoE compute may fill its wait.
  bool fills_wait(std::size_t node, std::size_t place) const {
    const bool waits = std::any_of(nodes_[node].after.begin(), nodes_[node].after.end(),
                                   [&](std::size_t a) { return nodes_[a].op.lane == OpLane::ep; });
    if (!waits || place == 0 || nodes_[node].op.sync_width > 1) return false;
    const Role before = nodes_[compute_lane_[place - 1]].role;
    return before == Role::experts || before == Role::wgrad_experts;
  }

  // Expert all-to-alls have their own lane; what blocks the compute lane stays on it.
  static OpLane lane_of(const Op& op) { return op.cls == OpClass::ep ? OpLane::ep : OpLane::compute; }

  std::size_t add_to_chain(std::uint8_t half, const PieceOps::Item& item) {
    Node node{item.op, {}, item.role};
    node.op.half = half;
    node.op.lane = lane_of(item.op);
    if (chain_[half]) node.after.push_back(*chain_[half]);
    const std::size_t index = nodes_.size();
    (node.op.lane == OpLane::ep ? ep_lane_ : compute_lane_).push_back(index);
    nodes_.push_back(std::move(node));
    chain_[half] = index;
    return index;
  }

  bool delay_wgrad_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> compute_lane_;
  std::vector<std::size_t> ep_lane_;
  std::optional<std::size_t> chain_[2]; // last op of each half
};

// Merges the lanes into one issue order: an all-to-all as soon as everything it depends on is issued, else the next
// compute op. So nothing that can run beside a compute op stands behind it.
Template PairBuilder::build() const {
  Template t;
  t.overlapped = true;
  std::vector<std::optional<std::uint16_t>> issued(nodes_.size());
  std::size_t next_ep = 0;
  std::size_t next_compute = 0;
  const auto ready = [&](std::size_t n) {
    return std::all_of(nodes_[n].after.begin(), nodes_[n].after.end(), [&](std::size_t a) { return issued[a]; });
  };
  const auto issue = [&](std::size_t n) {
    Op op = nodes_[n].op;
    op.first_dep = static_cast<std::uint16_t>(t.deps.size());
    op.num_deps = static_cast<std::uint16_t>(nodes_[n].after.size());
    for (const std::size_t a : nodes_[n].after) t.deps.push_back(*issued[a]);
    issued[n] = static_cast<std::uint16_t>(t.ops.size());
    t.ops.push_back(op);
  };
  while (t.ops.size() < nodes_.size()) {
    if (next_ep < ep_lane_.size() && ready(ep_lane_[next_ep])) {
      issue(ep_lane_[next_ep++]);
      continue;
    }
    TSL_CHECK_OP(next_compute, <, compute_lane_.size());
    TSL_CHECK(ready(compute_lane_[next_compute])); // else the two lane orders contradict each other
    const bool fills = fills_wait(compute_lane_[next_compute], next_compute);
    issue(compute_lane_[next_compute++]);
    if (fills) t.ops.back().fill_point = 1;
  }
  return t;
}

} // namespace

Template pair_template(std::span<const PieceOps> forward, std::span<const PieceOps> backward, bool delay_wgrad) {
  PairBuilder b(delay_wgrad);
  const std::size_t both = std::min(forward.size(), backward.size());
  const auto backward_piece = [&](std::size_t i) -> const PieceOps& { return backward[backward.size() - 1 - i]; };
  // The join of a forward piece waits for its combine, so it gives way to the next backward piece, whose combine must
  // leave early.
  const auto join_before = [&](std::size_t i) {
    if (i > 0) b.add(0, forward[i - 1].forward, Role::combine, OpLane::compute);
  };
  for (std::size_t i = 0; i < both; ++i) {
    const PieceOps& f = forward[i];
    const PieceOps& r = backward_piece(i);
    b.add(1, r.backward, Role::combine);
    join_before(i);
    b.add(0, f.forward, Role::attention);
    b.add(1, r.backward, Role::experts);
    b.add(0, f.forward, Role::dispatch);
    b.add_wgrad(r.wgrad, Role::wgrad_experts);
    b.add(1, r.backward, Role::dispatch);
    b.add(0, f.forward, Role::experts);
    b.add(1, r.backward, Role::attention);
    b.add_wgrad(r.wgrad, Role::wgrad_attention);
    b.add(0, f.forward, Role::combine, OpLane::ep);
  }
  for (std::size_t i = both; i < backward.size(); ++i) {
    const PieceOps& r = backward_piece(i);
    b.add(1, r.backward, Role::combine);
    b.add(1, r.backward, Role::experts);
    b.add_wgrad(r.wgrad, Role::wgrad_experts);
    b.add(1, r.backward, Role::dispatch);
    b.add(1, r.backward, Role::attention);
    b.add_wgrad(r.wgrad, Role::wgrad_attention);
  }
  for (std::size_t i = both; i < forward.size(); ++i) {
    join_before(i);
    b.add(0, forward[i].forward, Role::attention);
    b.add(0, forward[i].forward, Role::dispatch);
    b.add(0, forward[i].forward, Role::experts);
    b.add(0, forward[i].forward, Role::combine, OpLane::ep);
  }
  join_before(forward.size());
  return b.build();
}

} // namespace tessella
