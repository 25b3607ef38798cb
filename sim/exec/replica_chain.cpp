// Templates that are chains: one stream per rank, every op starts where the one before ended. Each op is one tight loop
// over the ranks of the group.
#include <algorithm>

#include "sim/base/rng.h"
#include "sim/engine/clocks.h"
#include "sim/exec/replica.h"

namespace tessella {
namespace {

Share exposed_share(OpClass cls) {
  switch (cls) {
  case OpClass::tp:
    return Share::exposed_tp;
  case OpClass::cp:
    return Share::exposed_cp;
  case OpClass::ep:
    return Share::exposed_ep;
  case OpClass::compute:
    break;
  }
  return Share::compute;
}

} // namespace

std::span<const std::int32_t> Replica::loads_of(Group& group, const Op& op, const Action& a) {
  const std::int64_t key = 1 + op.moe_layer + (std::int64_t{a.micro_batch.value} << 32);
  Loads& cached = load_[op.half];
  if (key == cached.key) return cached.tokens;
  TSL_CHECK(loads_ != nullptr);
  const auto block = static_cast<std::size_t>(program_.ep_block);
  const auto etp = static_cast<std::size_t>(program_.etp);
  for (std::size_t first = 0; first < n_; first += block) {
    const auto ep_group = static_cast<std::int32_t>(static_cast<std::size_t>(index_) * (n_ / block) + first / block);
    const RoutedRows rows = loads_->rank_loads(step_, op.moe_layer, a.micro_batch.value, ep_group, ep_load_);
    std::int64_t sum = 0;
    std::int32_t most = 0;
    for (std::size_t e = 0; e < ep_load_.size(); ++e) {
      sum += ep_load_[e];
      most = std::max(most, ep_load_[e]);
      for (std::size_t t = 0; t < etp; ++t) cached.tokens[first + e * etp + t] = ep_load_[e];
    }
    const double ratio =
        sum == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(ep_load_.size()) / static_cast<double>(sum);
    sums_.load_ratio_sum += ratio;
    sums_.load_ratio_max = std::max(sums_.load_ratio_max, ratio);
    ++sums_.load_samples;
    group.routed += rows.routed * program_.etp;
    if (rows.dropped > 0) sums_.dropped_sum += static_cast<double>(rows.dropped) / static_cast<double>(rows.routed);
  }
  for (std::size_t r = 0; r < n_; ++r) group.tokens[r] += cached.tokens[r];
  cached.key = key;
  return cached.tokens;
}

// Seeded noise on durations; keyed by everything that names the op, so no draw depends on another.
void Replica::apply_jitter(const Op& op, const Action& a, std::size_t count) {
  const bool compute = op.cls == OpClass::compute;
  const double sigma = compute ? program_.kernel_jitter : program_.fabric_jitter;
  const Stream stream =
      Stream(seed_, compute ? Purpose::kernel_jitter : Purpose::fabric_jitter, static_cast<std::uint64_t>(step_))
          .substream(static_cast<std::uint64_t>(index_))
          .substream(static_cast<std::uint64_t>(a.stage.value))
          .substream(static_cast<std::uint64_t>(a.micro_batch.value) * 8 + static_cast<std::uint64_t>(a.kind))
          .substream(static_cast<std::uint64_t>(jitter_op_++));
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = std::max(0.1, 1.0 + sigma * stream.normal(i));
    work_[i] = round_to_picoseconds(work_[i].seconds() * factor);
  }
}

// Fills work_[0, count) unless one value serves all, which is then work_[0]; returns whether the values differ.
bool Replica::durations(Group& group, const Op& op, const Action& a, std::size_t count) {
  const double sigma = op.cls == OpClass::compute ? program_.kernel_jitter : program_.fabric_jitter;
  bool differ = false;
  if (op.work == WorkKind::fixed) {
    std::fill_n(work_.begin(), sigma > 0.0 ? count : 1, op.duration);
  } else {
    const std::span<const std::int32_t> load = loads_of(group, op, a);
    const TokenCurve& curve = program_.curves[static_cast<std::size_t>(op.curve)];
    const std::size_t width = n_ / count;
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t tokens = load[i * width];
      for (std::size_t r = 1; r < width; ++r) tokens = std::max(tokens, load[i * width + r]);
      work_[i] = curve.at(tokens);
    }
    differ = count > 1;
    if (program_.stealing.width > 1 && op.cls == OpClass::compute && count == n_) steal(op);
  }
  if (filler_) {
    planned_count_ = differ ? count : 1;
    std::copy_n(work_.begin(), planned_count_, planned_.begin());
  }
  if (sigma > 0.0) {
    apply_jitter(op, a, count);
    differ = count > 1;
  }
  if (!group.handicaps.empty()) differ = apply_handicaps(group, op, count, differ);
  return skip_recomputed(group, op, a, differ);
}

void Replica::run_compute(Group& group, const Op& op, const Action& a) {
  auto& by_provenance = sums_.busy_by_provenance[static_cast<std::size_t>(op.provenance)];
  bool differ = durations(group, op, a, n_);
  if (filler_ && defers(op, a)) differ = defer(group, op, a, differ);
  if (differ) {
    advance_each(group.clock, work_, group.share(Share::compute));
    for (const Duration d : work_) by_provenance += d;
  } else {
    advance_all(group.clock, work_[0]);
    group.booked_on_all[Share::compute] += work_[0];
    by_provenance += work_[0] * static_cast<std::int64_t>(n_);
  }
}

bool Replica::run_collective(Group& group, const Op& op, const Action& a) {
  const auto width = static_cast<std::size_t>(op.sync_width);
  const std::size_t blocks = n_ / width;
  const Share share = exposed_share(op.cls);
  auto& by_provenance = sums_.busy_by_provenance[static_cast<std::size_t>(op.provenance)];
  Duration moving;
  const bool differ = durations(group, op, a, blocks);
  if (differ) {
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto members = std::span(group.clock).subspan(b * width, width);
      meet(members, width, work_[b], group.share(Share::imbalance).subspan(b * width, width));
      for (Duration& d : group.share(share).subspan(b * width, width)) d += work_[b];
      moving += work_[b] * op.sync_width;
    }
  } else {
    meet(group.clock, width, work_[0], group.share(Share::imbalance));
    group.booked_on_all[share] += work_[0];
    moving = work_[0] * static_cast<std::int64_t>(n_);
  }
  by_provenance += moving;
  if (op.cls == OpClass::ep) sums_.ep_moving += moving;
  return differ;
}

void Replica::run_chain(std::int32_t g, const Template& t, const Slot& slot) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  const auto& traced = traced_[static_cast<std::size_t>(g)];
  jitter_op_ = 0;
  if (filler_) {
    forecast_.begin(0);
    std::copy(group.clock.begin(), group.clock.end(), pinned_.begin());
  }
  for (std::size_t i = 0; i < t.ops.size(); ++i) {
    const Op& op = t.ops[i];
    const bool alone = op.cls == OpClass::compute && op.sync_width == 1;
    if (!traced.empty()) begun_ = group.clock;
    bool differ = false;
    const bool fills = this->fills(op);
    if (alone)
      run_compute(group, op, slot.first);
    else
      differ = fills ? fill_at_exchange(group, t, i, slot.first) : run_collective(group, op, slot.first);
    if (filler_ && !fills) plan_ahead(group, t, i, slot.first);
    if (filler_ && !alone) pin_to_exchange(fills ? exchange_end_ : group.clock);
    for (const std::int32_t r : traced) {
      const auto rank = static_cast<std::size_t>(r);
      const Time end = fills ? exchange_end_[rank] : group.clock[rank];
      const std::size_t block = differ ? rank / static_cast<std::size_t>(op.sync_width) : 0;
      trace_op(g, op, slot.first, rank, alone ? begun_[rank] : end - work_[block], end);
    }
  }
  sums_.rank_ops += static_cast<std::int64_t>(t.ops.size() * n_);
}

void Replica::trace_op(std::int32_t g, const Op& op, const Action& a, std::size_t rank, Time begin, Time end) {
  const std::int32_t per_position = program_.replicas * program_.group_size;
  trace_->events.push_back({g * per_position + index_ * program_.group_size + static_cast<std::int32_t>(rank),
                            static_cast<std::int32_t>(step_), static_cast<std::int32_t>(op.cls), a.stage.value,
                            a.micro_batch.value, letter(a.kind), program_.op_names[static_cast<std::size_t>(op.name)],
                            begin, end});
}

} // namespace tessella
