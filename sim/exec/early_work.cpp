#include "sim/exec/early_work.h"

#include <algorithm>

#include "sim/base/check.h"

namespace tessella {

EarlyWork::EarlyWork(const Program& program)
    : program_(program), n_(static_cast<std::size_t>(program.group_size)), any_(!program.ahead.empty()),
      ranks_(program.positions.size() * n_), left_(program.positions.size()) {
  for (std::size_t g = 0; g < left_.size(); ++g) {
    left_[g].resize(program.positions[g].spare.size() * n_);
    any_ = any_ || !left_[g].empty();
  }
  if (program.ahead.empty()) return;
  const Schedule& schedule = program.schedule;
  for (const auto& slots : schedule.ranks) {
    forward_slot_.emplace_back(static_cast<std::size_t>(schedule.num_stages) *
                               static_cast<std::size_t>(schedule.num_micro_batches));
    for (std::size_t i = 0; i < slots.size(); ++i)
      for (const Action* a : {&slots[i].first, slots[i].second ? &*slots[i].second : nullptr})
        if (a && a->kind == ActionKind::F) forward_slot_.back()[index({a->stage.value, a->micro_batch.value})] = i;
  }
}

std::size_t EarlyWork::index(const Backward& b) const {
  return static_cast<std::size_t>(b.stage) * static_cast<std::size_t>(program_.schedule.num_micro_batches) +
         static_cast<std::size_t>(b.micro_batch);
}

void EarlyWork::begin_step() {
  std::fill(ranks_.begin(), ranks_.end(), Rank{});
  for (std::size_t g = 0; g < left_.size(); ++g)
    for (std::size_t i = 0; i < left_[g].size(); ++i) left_[g][i] = program_.positions[g].spare[i / n_].pieces;
}

std::int64_t EarlyWork::left(std::size_t group, std::size_t rank, std::size_t kind) const {
  return left_[group][kind * n_ + rank];
}

void EarlyWork::did(std::size_t group, std::size_t rank, std::size_t kind, std::int64_t pieces) {
  std::int64_t& left = left_[group][kind * n_ + rank];
  TSL_CHECK_OP(pieces, <=, left);
  left -= pieces;
  ranks_[at(group, rank)].bytes += pieces * program_.positions[group].spare[kind].bytes;
}

Duration EarlyWork::left(std::size_t group, std::size_t rank) const {
  const std::vector<SpareWork>& spare = program_.positions[group].spare;
  Duration sum;
  for (std::size_t kind = 0; kind < spare.size(); ++kind) sum += spare[kind].piece * left(group, rank, kind);
  return sum;
}

std::optional<EarlyWork::Backward> EarlyWork::next_backward(std::size_t group, std::size_t from,
                                                            std::size_t running) const {
  if (program_.ahead.empty()) return std::nullopt;
  const auto& slots = program_.schedule.ranks[group];
  for (std::size_t i = from; i < slots.size(); ++i)
    for (const Action* a : {&slots[i].first, slots[i].second ? &*slots[i].second : nullptr}) {
      if (!a || a->kind != ActionKind::B || program_.schedule.is_shadow(a->micro_batch)) continue;
      const Backward b{a->stage.value, a->micro_batch.value};
      const std::optional<std::size_t> forward = forward_slot_[group][index(b)];
      return forward && *forward < running ? std::optional(b) : std::nullopt;
    }
  return std::nullopt;
}

std::optional<AheadWork> EarlyWork::next_ahead(std::size_t group, std::size_t rank, const Backward& backward) const {
  const Rank& r = ranks_[at(group, rank)];
  const bool same = r.backward == backward;
  if (!same && r.used < r.done) return std::nullopt;
  const auto next = static_cast<std::size_t>(same ? r.done : 0);
  return next < ahead_of(backward).size() ? std::optional(ahead_of(backward)[next]) : std::nullopt;
}

void EarlyWork::did_ahead(std::size_t group, std::size_t rank, const Backward& backward) {
  Rank& r = ranks_[at(group, rank)];
  if (r.backward != backward) {
    TSL_CHECK_OP(r.used, ==, r.done);
    r.backward = backward;
    r.done = r.used = 0;
  }
  r.bytes += ahead_of(backward)[static_cast<std::size_t>(r.done++)].bytes;
}

Duration EarlyWork::use_ahead(std::size_t group, std::size_t rank, const Backward& backward, std::int32_t ahead) {
  Rank& r = ranks_[at(group, rank)];
  if (r.backward != backward || ahead > r.done) return {};
  const AheadWork& work = ahead_of(backward)[static_cast<std::size_t>(ahead - 1)];
  ++r.used;
  r.bytes -= work.bytes;
  return work.duration;
}

} // namespace tessella
