#include "sim/planner/handicaps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/domain/workload_shape.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// Seconds by Handicap::Part.
Factors seconds_of(const Program& p, std::int64_t rows) {
  Factors s{};
  for (const Template& t : p.templates)
    for (const Op& op : t.ops)
      s[static_cast<std::size_t>(op.cls)] +=
          (op.work == WorkKind::fixed ? op.duration : p.curves[static_cast<std::size_t>(op.curve)].at(rows)).seconds();
  for (const Position& position : p.positions)
    for (const ChunkSync& c : position.chunks)
      s[Handicap::dp] += (c.dense_reduce + c.expert_reduce + c.param_gather).seconds();
  s[Handicap::p2p] = p.p2p_flight.seconds();
  return s;
}

class Collector {
 public:
  Collector(const Scenario& scenario, const Program& healthy, const PairPlans& pairs)
      : s_(scenario), healthy_(healthy), pairs_(pairs) {
    if (s_.model.has_moe()) {
      const WorkloadShape shape = workload_shape(s_.model, s_.parallelism, s_.batch);
      rows_ = shape.rows() / shape.ep;
    }
  }

  void operator()(const SlowGpu& e) { at(e.rank)[Handicap::compute] *= e.factor; }
  void operator()(const SlowNic& e) { slow(e.rank, nic_factors(e.factor)); }
  void operator()(const SlowLink& e) {
    Cluster c = s_.cluster;
    c.node.scale_up.bandwidth = c.node.scale_up.bandwidth * (1.0 / e.factor);
    slow(e.rank, factors_on(c));
  }
  // The GPU without a NIC and the next one of its node share one.
  void operator()(const FailedRail& e) {
    const Factors halved = nic_factors(2.0);
    const std::int64_t gpus = s_.cluster.node.gpus;
    for (std::int64_t rank = 0; rank < s_.parallelism.world_size; ++rank)
      if (rank % gpus == e.rail || rank % gpus == (e.rail + 1) % gpus) slow(rank, halved);
  }
  void operator()(const MoreJitter&) {}
  void operator()(const MoveLayers&) {}
  void operator()(const DenseCircuit&) {}
  void operator()(const WorkStealing&) {}

  std::vector<Handicap> result() const {
    std::vector<Handicap> out;
    for (const auto& [rank, factors] : factors_) out.push_back({static_cast<std::int32_t>(rank), factors});
    return out;
  }

 private:
  Factors& at(std::int64_t rank) {
    return factors_.try_emplace(rank, Factors{1.0, 1.0, 1.0, 1.0, 1.0, 1.0}).first->second;
  }
  void slow(std::int64_t rank, const Factors& by) {
    Factors& mine = at(rank);
    for (std::size_t i = 0; i < by.size(); ++i) mine[i] *= by[i];
  }
  Factors nic_factors(double factor) {
    Cluster c = s_.cluster;
    c.node.nic.bandwidth = c.node.nic.bandwidth * (1.0 / factor);
    return factors_on(c);
  }
  Factors factors_on(Cluster cluster) {
    Scenario other = s_;
    other.cluster = std::move(cluster);
    return factors_between(healthy_, lower_in_orders(other, healthy_.schedule, pairs_), rows_);
  }

  const Scenario& s_;
  const Program& healthy_;
  const PairPlans& pairs_;
  std::int64_t rows_ = 0;
  std::map<std::int64_t, Factors> factors_; // [rank]
};

} // namespace

Factors factors_between(const Program& healthy, const Program& slow, std::int64_t balanced_rows) {
  const Factors a = seconds_of(healthy, balanced_rows);
  const Factors b = seconds_of(slow, balanced_rows);
  Factors factors{1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (i != Handicap::compute && a[i] > 0.0) factors[i] = std::max(1.0, b[i] / a[i]);
  return factors;
}

std::vector<Handicap> handicaps_of(const Scenario& scenario, const std::vector<WhatIf>& events, const Program& healthy,
                                   const PairPlans& pairs) {
  Collector collect(scenario, healthy, pairs);
  for (const WhatIf& e : events) std::visit(collect, e);
  return collect.result();
}

} // namespace tessella
