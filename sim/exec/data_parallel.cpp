#include "sim/exec/data_parallel.h"

#include <algorithm>
#include <numeric>

#include "sim/engine/clocks.h"

namespace tessella {
namespace {

using Replicas = std::vector<std::unique_ptr<Replica>>;

// All ranks of one pipeline position, over all replicas.
class PositionRanks {
 public:
  PositionRanks(const Program& program, const Replicas& replicas, std::size_t position, const StepTracer& tracer)
      : program_(program), tracer_(tracer), position_(position), n_(static_cast<std::size_t>(program.group_size)) {
    for (const auto& r : replicas) groups_.push_back(&r->groups()[position]);
    lane_.resize(groups_.size() * n_);
    const std::int32_t per_position = program.replicas * program.group_size;
    for (const Handicap& h : program.handicaps)
      if (h.rank / per_position == static_cast<std::int32_t>(position) && h.factor[Handicap::dp] > 1.0)
        slow_.emplace_back(static_cast<std::size_t>(h.rank % program.group_size), h.factor[Handicap::dp]);
  }

  // Reduces the gradients of chunk after chunk on the dp lane.
  void reduce_gradients(const Position& position, const std::vector<std::size_t>& chunk_order) {
    for (const std::size_t chunk : chunk_order) {
      for (std::size_t g = 0; g < groups_.size(); ++g)
        for (std::size_t r = 0; r < n_; ++r) {
          const Time ready = program_.overlap_grad_reduce
                                 ? groups_[g]->gradients_ready[chunk * n_ + r] - position.chunks[chunk].reduce_lead
                                 : groups_[g]->clock[r];
          lane_[g * n_ + r] = max(lane_[g * n_ + r], ready);
        }
      const auto c = static_cast<std::int32_t>(chunk);
      meet_on_lane(program_.dense_stride, position.chunks[chunk].dense_reduce, "reduce_dense_gradients", c);
      meet_on_lane(program_.ep_block, position.chunks[chunk].expert_reduce, "reduce_expert_gradients", c);
    }
  }

  void gather_params(const Position& position) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      std::copy(groups_[g]->clock.begin(), groups_[g]->clock.end(),
                lane_.begin() + static_cast<std::ptrdiff_t>(g * n_));
    for (std::size_t c = 0; c < position.chunks.size(); ++c)
      meet_on_lane(program_.dense_stride, position.chunks[c].param_gather, "gather_parameters",
                   static_cast<std::int32_t>(c));
  }

 private:
  // Ranks with equal r % stride meet over all replicas, then spend d; what outlasts the rank's own clock is exposed.
  void meet_on_lane(std::int32_t stride, Duration d, const char* op, std::int32_t chunk) {
    if (d == Duration{}) return;
    const auto width = static_cast<std::size_t>(stride);
    std::vector<Time> start(width);
    std::vector<Duration> takes(width, d);
    for (const auto& [rank, factor] : slow_) takes[rank % width] = max(takes[rank % width], scaled(d, factor));
    for (std::size_t i = 0; i < lane_.size(); ++i) start[(i % n_) % width] = max(start[(i % n_) % width], lane_[i]);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) {
        Group& group = *groups_[g];
        const Time begin = start[r % width];
        const Time end = begin + takes[r % width];
        Time& clock = group.clock[r];
        group.share(Share::imbalance)[r] += max(Duration{0}, begin - clock);
        group.share(Share::exposed_dp)[r] += max(Duration{0}, end - max(begin, clock));
        clock = max(clock, end);
        lane_[g * n_ + r] = end;
        tracer_.add(g, position_, r, 'D', op, chunk, begin, end);
      }
  }

  const Program& program_;
  const StepTracer& tracer_;
  std::size_t position_;
  std::size_t n_;
  std::vector<Group*> groups_;
  std::vector<Time> lane_;                           // [replica][rank] the dp lane
  std::vector<std::pair<std::size_t, double>> slow_; // ranks of the group with a slow dp lane, in any replica
};

void reduce_tied_embedding(const Program& program, const Replicas& replicas) {
  const Duration d = program.tied_embedding_reduce;
  if (d == Duration{}) return;
  for (const auto& replica : replicas) {
    Group& first = replica->groups().front();
    Group& last = replica->groups().back();
    for (std::size_t r = 0; r < first.clock.size(); ++r) {
      const Time begin = max(first.clock[r], last.clock[r]);
      for (Group* g : {&first, &last}) {
        g->share(Share::imbalance)[r] += begin - g->clock[r];
        g->share(Share::exposed_pp)[r] += d;
        g->clock[r] = begin + d;
      }
    }
  }
}

Time latest_of_all(const Replicas& replicas) {
  Time t;
  for (const auto& replica : replicas)
    for (const Group& g : replica->groups()) t = max(t, latest(g.clock));
  return t;
}

// Every rank waits, idle, until `until`.
void drain(const Replicas& replicas, Time until) {
  for (const auto& replica : replicas)
    for (Group& g : replica->groups())
      for (std::size_t r = 0; r < g.clock.size(); ++r) {
        g.share(Share::bubble_drain)[r] += until - g.clock[r];
        g.clock[r] = until;
      }
}

} // namespace

std::vector<std::size_t> completion_order(const std::vector<Slot>& slots, const Position& position) {
  std::vector<std::size_t> last(position.chunks.size(), 0);
  for (std::size_t i = 0; i < slots.size(); ++i)
    for (const Action* a : {&slots[i].first, slots[i].second ? &*slots[i].second : nullptr})
      if (a && (a->kind == ActionKind::B || a->kind == ActionKind::W)) last[position.chunk_of(a->stage.value)] = i;
  std::vector<std::size_t> order(last.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return last[a] < last[b]; });
  return order;
}

StepTracer::StepTracer(const Program& program, const TraceRequest& request, std::int64_t step,
                       std::vector<TraceEvent>& events)
    : program_(&program), step_(static_cast<std::int32_t>(step)), events_(&events) {
  if (std::find(request.steps.begin(), request.steps.end(), step_) != request.steps.end()) request_ = &request;
}

void StepTracer::add(std::size_t replica, std::size_t position, std::size_t rank, char kind, const char* op,
                     std::int32_t chunk, Time begin, Time end) const {
  if (!request_ || begin == end) return;
  const auto group = static_cast<std::int32_t>(position) * program_->replicas + static_cast<std::int32_t>(replica);
  const std::int32_t global = group * program_->group_size + static_cast<std::int32_t>(rank);
  if (!std::binary_search(request_->ranks.begin(), request_->ranks.end(), global)) return;
  const std::int32_t lane = kind == 'D' ? kDataParallelLane : 0;
  const std::int32_t stage = program_->positions[position].stages[static_cast<std::size_t>(chunk)];
  events_->push_back({global, step_, lane, stage, 0, kind, op, begin, end});
}

Time finish_step(const Program& program, const Replicas& replicas, const StepTracer& tracer) {
  std::vector<PositionRanks> positions;
  for (std::size_t p = 0; p < program.positions.size(); ++p) {
    positions.emplace_back(program, replicas, p, tracer);
    positions.back().reduce_gradients(program.positions[p],
                                      completion_order(program.schedule.ranks[p], program.positions[p]));
  }
  reduce_tied_embedding(program, replicas);
  if (program.norm_sync > Duration{}) drain(replicas, latest_of_all(replicas));
  for (std::size_t i = 0; i < replicas.size(); ++i)
    for (std::size_t p = 0; p < positions.size(); ++p) {
      Group& g = replicas[i]->groups()[p];
      if (!g.spare_left.empty()) advance_each(g.clock, g.spare_left, g.share(Share::optimizer));
      for (std::size_t r = 0; r < g.clock.size(); ++r)
        tracer.add(i, p, r, 'O', "optimizer", 0, g.clock[r] + program.norm_sync,
                   g.clock[r] + program.norm_sync + program.positions[p].optimizer);
      advance_all(g.clock, program.norm_sync + program.positions[p].optimizer);
      g.booked_on_all[Share::exposed_dp] += program.norm_sync;
      g.booked_on_all[Share::optimizer] += program.positions[p].optimizer;
    }
  if (!program.overlap_param_gather)
    for (std::size_t p = 0; p < positions.size(); ++p) positions[p].gather_params(program.positions[p]);
  const Time makespan = latest_of_all(replicas);
  drain(replicas, makespan);
  return makespan;
}

} // namespace tessella
