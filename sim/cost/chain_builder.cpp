#include "sim/cost/chain_builder.h"

#include <array>
#include <utility>

#include "sim/cost/load_curve.h"

namespace tessella {
namespace {

// Means over the details, weighted by time; provenance of the longest.
void summarise(OpCost& op) {
  double total = 0.0;
  double hbm = 0.0;
  Contention sum{0.0, 0.0};
  Duration longest{-1};
  for (const OpDetail& d : op.details) {
    const double t = static_cast<double>(d.duration.ps);
    total += t;
    hbm += t * d.hbm_bound;
    sum.waiting += t * d.contention.waiting;
    sum.moving += t * d.contention.moving;
    if (d.duration > longest) {
      longest = d.duration;
      op.provenance = d.provenance;
    }
  }
  if (total <= 0.0) return;
  op.hbm_bound = hbm / total;
  op.contention = {sum.waiting / total, sum.moving / total};
}

// What an op of this role is called when it holds several sections.
const char* op_name(Role role) {
  constexpr std::array names = {"attention", "dispatch", "experts", "combine", "experts", "attention"};
  return names[static_cast<std::size_t>(role)];
}

ByLoad with_prefix(const std::string& prefix, ByLoad cost) {
  return [prefix, cost = std::move(cost)](std::int64_t rows) {
    OpDetail d = cost(rows);
    d.name = prefix + d.name;
    return d;
  };
}

} // namespace

ChainBuilder::ChainBuilder(std::string suffix, std::int64_t balanced_rows, bool varies, OpDetail host_op)
    : suffix_(std::move(suffix)), balanced_rows_(balanced_rows), varies_(varies), host_op_(std::move(host_op)) {}

void ChainBuilder::section(Role role, const std::string& name) {
  if (role != role_) cut();
  if (!pending_.empty() && name != section_) several_sections_ = true;
  if (pending_.empty()) section_ = name;
  role_ = role;
}

void ChainBuilder::kernel(OpDetail detail) {
  note_prefix();
  detail.name = prefix_ + detail.name;
  pending_.push_back({std::move(detail), {}});
}

void ChainBuilder::kernel_by_load(ByLoad cost) {
  if (!varies_) return kernel(cost(balanced_rows_));
  note_prefix();
  pending_.push_back({{}, with_prefix(prefix_, std::move(cost))});
}

void ChainBuilder::collective(OpClass cls, std::int64_t sync_width, OpDetail detail) {
  cut();
  detail.name = prefix_ + detail.name;
  const std::string name = detail.name + suffix_;
  ops_.push_back(make_op(name, cls, sync_width, {{std::move(detail), {}}}));
}

void ChainBuilder::collective_by_load(OpClass cls, std::int64_t sync_width, ByLoad cost) {
  OpDetail balanced = cost(balanced_rows_);
  if (!varies_) return collective(cls, sync_width, std::move(balanced));
  cut();
  const std::string name = prefix_ + balanced.name + suffix_;
  ops_.push_back(make_op(name, cls, sync_width, {{{}, with_prefix(prefix_, std::move(cost))}}));
}

void ChainBuilder::hidden_collective(OpClass cls, std::int64_t sync_width, OpDetail detail, Duration behind) {
  detail.duration = detail.duration > behind ? detail.duration - behind : Duration{0};
  if (detail.duration > Duration{0})
    collective(cls, sync_width, std::move(detail));
  else
    kernel(std::move(detail));
}

// An op is "rc_" when all its kernels are.
void ChainBuilder::note_prefix() {
  if (pending_.empty())
    op_prefix_ = prefix_;
  else if (op_prefix_ != prefix_)
    op_prefix_.clear();
}

void ChainBuilder::cut() {
  if (pending_.empty()) return;
  const std::string name = op_prefix_ + (several_sections_ ? op_name(role_) : section_) + suffix_;
  ops_.push_back(make_op(name, OpClass::compute, 1, pending_));
  pending_.clear();
  several_sections_ = false;
}

OpCost ChainBuilder::make_op(const std::string& name, OpClass cls, std::int64_t sync_width,
                             const std::vector<Part>& parts) const {
  OpCost op;
  op.name = name;
  op.role = role_;
  op.cls = cls;
  op.sync_width = sync_width;
  bool varies = false;
  Duration fixed;
  std::int64_t kernels = 0;
  for (const Part& part : parts) {
    varies = varies || part.by_load;
    if (!part.by_load) fixed += part.fixed.duration;
    op.details.push_back(part.by_load ? part.by_load(balanced_rows_) : part.fixed);
    op.duration += op.details.back().duration;
    if (cls == OpClass::compute && op.details.back().duration > Duration{0}) ++kernels;
  }
  const Duration floor = host_op_.duration * kernels;
  if (floor > op.duration) {
    op.details.push_back(host_op_);
    op.details.back().duration = floor - op.duration;
    op.duration = floor;
  }
  summarise(op);
  if (varies)
    op.by_load = sample_curve(balanced_rows_, [&](std::int64_t rows) {
      Duration sum = fixed;
      for (const Part& part : parts)
        if (part.by_load) sum += part.by_load(rows).duration;
      return max(sum, floor);
    });
  return op;
}

std::vector<OpCost> ChainBuilder::take() {
  cut();
  return std::move(ops_);
}

} // namespace tessella
