#include "sim/exec/replica.h"

#include <algorithm>
#include <optional>

#include "sim/engine/clocks.h"

namespace tessella {
namespace {

// The message an action needs: its way, or nothing when the action starts from local data.
std::optional<Message::Way> needs(const Action& a, std::int32_t num_stages) {
  if (a.kind == ActionKind::F && a.stage.value > 0) return Message::Way::activation;
  const bool input_gradient = a.kind == ActionKind::B || a.kind == ActionKind::I;
  if (input_gradient && a.stage.value + 1 < num_stages) return Message::Way::gradient;
  return std::nullopt;
}

} // namespace

ReplicaSums& ReplicaSums::operator+=(const ReplicaSums& o) {
  if (stage_forward.size() < o.stage_forward.size()) stage_forward.resize(o.stage_forward.size());
  if (stage_backward.size() < o.stage_backward.size()) stage_backward.resize(o.stage_backward.size());
  for (std::size_t s = 0; s < o.stage_forward.size(); ++s) stage_forward[s] += o.stage_forward[s];
  for (std::size_t s = 0; s < o.stage_backward.size(); ++s) stage_backward[s] += o.stage_backward[s];
  for (std::size_t p = 0; p < busy_by_provenance.size(); ++p) busy_by_provenance[p] += o.busy_by_provenance[p];
  ep_moving += o.ep_moving;
  load_ratio_sum += o.load_ratio_sum;
  load_ratio_max = std::max(load_ratio_max, o.load_ratio_max);
  dropped_sum += o.dropped_sum;
  load_samples += o.load_samples;
  fill += o.fill;
  keep_peaks(o);
  return *this;
}

void ReplicaSums::keep_peaks(const ReplicaSums& o) {
  held_load_max = std::max(held_load_max, o.held_load_max);
  if (pool_peak_bytes.size() < o.pool_peak_bytes.size()) pool_peak_bytes.resize(o.pool_peak_bytes.size());
  for (std::size_t p = 0; p < o.pool_peak_bytes.size(); ++p)
    pool_peak_bytes[p] = std::max(pool_peak_bytes[p], o.pool_peak_bytes[p]);
  events += o.events;
  rank_ops += o.rank_ops;
}

LedgerRow Group::row(std::size_t rank) const {
  LedgerRow row = booked_on_all;
  for (std::size_t s = 0; s < kNumShares; ++s) row.share[s] += booked[s * clock.size() + rank];
  return row;
}

Replica::Replica(const Program& program, const LoadSource* loads)
    : program_(program), loads_(loads), n_(static_cast<std::size_t>(program.group_size)),
      groups_(static_cast<std::size_t>(program.num_positions())), queue_(groups_.size() + 1),
      board_(program.schedule.num_stages, program.schedule.num_micro_batches, n_), traced_(groups_.size()), work_(n_),
      ep_load_(static_cast<std::size_t>(program.ep_block / program.etp)), begun_(n_), overlap_(n_), forecast_(n_) {
  for (Loads& l : load_) l.tokens.resize(n_);
  for (std::size_t p = 0; p < groups_.size(); ++p) {
    Group& g = groups_[p];
    const std::size_t chunks = program.positions[p].chunks.size();
    g.clock.resize(n_);
    g.tokens.resize(n_);
    g.booked.resize(n_ * kNumShares);
    g.gradients_ready.resize(n_ * chunks);
    g.params_ready.resize(chunks);
  }
}

Replica::Replica(const Program& program, const LoadSource* loads, const FillerOptions& filler, const FillPlan& plan)
    : Replica(program, loads) {
  if (!filler.on()) return;
  filler_.emplace(program, filler, plan);
  planned_.resize(n_);
  pinned_.resize(n_);
  exchange_end_.resize(n_);
}

void Replica::reset() {
  if (filler_) filler_->begin_step();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    std::fill(group.clock.begin(), group.clock.end(), Time{});
    std::fill(group.booked.begin(), group.booked.end(), Duration{});
    std::fill(group.gradients_ready.begin(), group.gradients_ready.end(), Time{});
    std::fill(group.tokens.begin(), group.tokens.end(), 0);
    group.routed = 0;
    group.booked_on_all = {};
    group.next_slot = 0;
    group.queued = false;
    Time gathered;
    for (std::size_t c = 0; c < group.params_ready.size(); ++c) {
      if (program_.overlap_param_gather) gathered = gathered + program_.positions[g].chunks[c].param_gather;
      group.params_ready[c] = gathered - program_.positions[g].chunks[c].gather_lead;
    }
  }
  queue_.clear();
  sums_ = {};
  sums_.stage_forward.resize(static_cast<std::size_t>(program_.schedule.num_stages));
  sums_.stage_backward.resize(sums_.stage_forward.size());
  for (Loads& l : load_) l.key = 0;
}

void Replica::run(std::int64_t step, std::int32_t index, std::uint64_t seed, RunRecords* trace,
                  const TraceRequest& request) {
  step_ = step;
  index_ = index;
  seed_ = seed;
  trace_ = nullptr;
  for (auto& ranks : traced_) ranks.clear();
  const auto world_per_position = program_.replicas * program_.group_size;
  if (trace && std::find(request.steps.begin(), request.steps.end(), step) != request.steps.end())
    for (const std::int32_t rank : request.ranks) {
      const std::int32_t inside = rank % world_per_position;
      if (inside / program_.group_size != index) continue;
      traced_[static_cast<std::size_t>(rank / world_per_position)].push_back(inside % program_.group_size);
      trace_ = trace;
    }
  reset();
  find_handicaps();
  const auto positions = static_cast<std::int32_t>(groups_.size());
  for (std::int32_t g = 0; g < positions; ++g) queue_if_ready(g);
  while (!queue_.empty()) execute(queue_.pop().target);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    TSL_CHECK_OP(groups_[g].next_slot, ==, program_.schedule.ranks[g].size());
  TSL_CHECK(board_.empty());
  note_spare_left();
  if (filler_) {
    sums_.fill = filler_->sums();
    sums_.pool_peak_bytes = filler_->peak_bytes();
  }
  sums_.events = static_cast<std::int64_t>(queue_.scheduled());
  note_held_loads();
}

void Replica::note_held_loads() {
  for (const Group& g : groups_) {
    const std::int64_t most = *std::max_element(g.tokens.begin(), g.tokens.end());
    if (g.routed > 0)
      sums_.held_load_max = std::max(sums_.held_load_max, static_cast<double>(most) * static_cast<double>(n_) /
                                                              static_cast<double>(g.routed));
  }
}

void Replica::queue_if_ready(std::int32_t g) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  const auto& slots = program_.schedule.ranks[static_cast<std::size_t>(g)];
  if (group.queued || group.next_slot == slots.size()) return;
  const Slot& slot = slots[group.next_slot];
  Time at = latest(group.clock);
  for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr}) {
    if (!a) continue;
    const auto way = needs(*a, program_.schedule.num_stages);
    if (!way) continue;
    if (!board_.has(*way, a->stage.value, a->micro_batch.value)) return;
    at = max(at, latest(board_.arrival(*way, a->stage.value, a->micro_batch.value)));
  }
  group.queued = true;
  queue_.push(at, g);
}

void Replica::receive(std::int32_t g, const Action& a, Share idle, std::size_t which) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  if (const auto way = needs(a, program_.schedule.num_stages)) {
    const Time before = group.clock[0];
    if (filler_) fill_message_wait(group, which, board_.arrival(*way, a.stage.value, a.micro_batch.value), idle);
    wait_until(group.clock, board_.arrival(*way, a.stage.value, a.micro_batch.value),
               board_.flight(*way, a.stage.value, a.micro_batch.value), group.share(Share::exposed_pp),
               group.share(idle));
    if (message_waits_)
      (*message_waits_)[static_cast<std::size_t>(g)][2 * group.next_slot + which] = group.clock[0] - before;
    board_.take(*way, a.stage.value, a.micro_batch.value);
  }
  if (a.kind != ActionKind::F || !program_.overlap_param_gather) return;
  // The first forward of a chunk waits for its parameters; later ones find them there.
  const Time gathered = group.params_ready[program_.positions[static_cast<std::size_t>(g)].chunk_of(a.stage.value)];
  const std::span<Duration> exposed = group.share(Share::exposed_dp);
  for (std::size_t r = 0; r < n_; ++r) {
    const Duration wait = max(Duration{0}, gathered - group.clock[r]);
    exposed[r] += wait;
    group.clock[r] = group.clock[r] + wait;
  }
}

void Replica::execute(std::int32_t g) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  const Slot& slot = program_.schedule.ranks[static_cast<std::size_t>(g)][group.next_slot];
  const Share idle = group.next_slot == 0 ? Share::bubble_warmup : Share::bubble_dependency;
  receive(g, slot.first, idle, 0);
  if (slot.second) receive(g, *slot.second, idle, 1);

  const auto template_of = [&](const Action& a) {
    return program_.stage_templates[static_cast<std::size_t>(a.stage.value)][static_cast<std::size_t>(a.kind)];
  };
  Duration before;
  for (const Time t : group.clock) before += Duration{t.ps};
  // A shadow micro-batch keeps its place in the order and does nothing.
  const bool runs_first = !program_.schedule.is_shadow(slot.first.micro_batch);
  const bool runs_second = slot.second && !program_.schedule.is_shadow(slot.second->micro_batch);
  std::array<std::span<const Time>, 2> leaves = {group.clock, group.clock};
  const auto run = [&](std::int32_t index, const Slot& of) {
    const Template& t = program_.templates[static_cast<std::size_t>(index)];
    if (t.overlapped)
      run_overlapped(g, t, of);
    else
      run_chain(g, t, of);
    for (std::size_t half = 0; half < 2; ++half)
      if (t.sends[half]) leaves[half] = overlap_.ends(*t.sends[half]);
  };
  if (runs_first && runs_second)
    run(program_.pair_templates.at({template_of(slot.first), template_of(*slot.second)}), slot);
  else if (runs_first)
    run(template_of(slot.first), {slot.first, std::nullopt});
  else if (runs_second)
    run(template_of(*slot.second), {*slot.second, std::nullopt});
  Duration spent = Duration{} - before;
  for (const Time end : group.clock) spent += Duration{end.ps};
  auto& stage_sum = slot.first.kind == ActionKind::F ? sums_.stage_forward : sums_.stage_backward;
  stage_sum[static_cast<std::size_t>(slot.first.stage.value)] += spent;

  group.queued = false;
  ++group.next_slot;
  finish(g, slot.first, leaves[0]);
  if (slot.second) finish(g, *slot.second, leaves[1]);
  if (filler_) run_what_is_due(group, slot);
  queue_if_ready(g);
}

void Replica::finish(std::int32_t g, const Action& a, std::span<const Time> leaves) {
  Group& group = groups_[static_cast<std::size_t>(g)];
  const std::int32_t stage = a.stage.value;
  if (a.kind == ActionKind::F && stage + 1 < program_.schedule.num_stages)
    post(g, a, Message::Way::activation, stage + 1, leaves);
  if ((a.kind == ActionKind::B || a.kind == ActionKind::I) && stage > 0)
    post(g, a, Message::Way::gradient, stage - 1, leaves);
  if (a.kind == ActionKind::B || a.kind == ActionKind::W) {
    const auto chunk = program_.positions[static_cast<std::size_t>(g)].chunk_of(stage);
    std::copy(group.clock.begin(), group.clock.end(),
              group.gradients_ready.begin() + static_cast<std::ptrdiff_t>(chunk * n_));
  }
}

void Replica::post(std::int32_t g, const Action& a, Message::Way way, std::int32_t to, std::span<const Time> leaves) {
  const Group& group = groups_[static_cast<std::size_t>(g)];
  const std::int32_t target = program_.owner_of(Stage{to}, a.micro_batch);
  const Duration flight = target == g ? Duration{0} : program_.p2p_flight;
  const std::span<Time> arrival = board_.post(way, to, a.micro_batch.value, flight);
  for (std::size_t r = 0; r < n_; ++r) arrival[r] = leaves[r] + flight;
  for (const auto& [r, ails] : group.handicaps) arrival[r] = leaves[r] + scaled(flight, ails->factor[Handicap::p2p]);
  if (target == g) return; // this group is examined once its own slot is finished
  if (trace_)
    for (const std::int32_t r : traced_[static_cast<std::size_t>(g)]) {
      const std::int32_t inside = index_ * program_.group_size + r;
      const std::int32_t per_position = program_.replicas * program_.group_size;
      trace_->flows.push_back({g * per_position + inside, target * per_position + inside,
                               static_cast<std::int32_t>(step_), a.stage.value, a.micro_batch.value, letter(a.kind),
                               leaves[static_cast<std::size_t>(r)], arrival[static_cast<std::size_t>(r)]});
    }
  queue_if_ready(target);
}

} // namespace tessella
