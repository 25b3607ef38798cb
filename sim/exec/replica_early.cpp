// Early work inside a replica: what no policy has to choose, because it only fits or does not. It comes after the
// policy's weight gradients, within what the rank expects of the gap, and never takes memory that the pool may need.
#include <algorithm>

#include "sim/exec/replica.h"

namespace tessella {

// Runs `work` on the compute lane if it should fit before `until`; whether it did.
bool Replica::run_early(Group& group, std::size_t r, const EarlyRun& work, const Gap& gap, Time until) {
  Time& clock = group.clock[r];
  const Duration span =
      gap.exchange ? max(work.beside_waiting.span_for(work.duration), work.beside_moving.span_for(work.duration))
                   : work.duration;
  if (gap.ready <= clock || clock + span > until) return false;
  const Time from = clock;
  const Overlap::Run run = overlap_.run(r, clock, work.duration, work.beside_waiting, work.beside_moving);
  group.share(Share::overlapped)[r] += run.moving;
  group.share(Share::compute)[r] += run.end - clock - run.moving;
  sums_.busy_by_provenance[static_cast<std::size_t>(work.provenance)] += run.end - clock;
  clock = run.end;
  FillSums& sums = filler_->sums();
  sums.early += work.duration;
  sums.filled += min(clock, gap.ready) - from;
  sums.overrun += max(Duration{}, clock - gap.ready);
  return true;
}

void Replica::recompute_ahead(Group& group, std::size_t r, const Gap& gap, Time until) {
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  EarlyWork& early = filler_->early();
  // While a slot runs, its own backward does not wait for anything to be ahead of.
  const auto backward = early.next_backward(g, group.next_slot + (gap.exchange ? 1 : 0), group.next_slot);
  if (!backward) return;
  while (const auto next = early.next_ahead(g, r, *backward)) {
    if (next->bytes > filler_->free_bytes(g, r)) return;
    if (!run_early(group, r, {next->duration, next->beside_waiting, next->beside_moving, next->provenance}, gap, until))
      return;
    early.did_ahead(g, r, *backward);
    filler_->note_bytes(g, r);
  }
}

void Replica::fill_early(Group& group, std::size_t r, const Gap& gap) {
  const FillPolicy& policy = *filler_->options().policy;
  EarlyWork& early = filler_->early();
  if (!policy.defers || !early.any()) return;
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  const Time until = policy.knowing ? gap.ready : gap.estimate;
  recompute_ahead(group, r, gap, until);
  const std::vector<SpareWork>& spare = program_.positions[g].spare;
  for (std::size_t kind = 0; kind < spare.size(); ++kind) {
    const SpareWork& w = spare[kind];
    if (w.copies && gap.exchange) continue;
    // A copy engine works beside the idle lane, for as long as the rank expects to wait.
    Time copied = group.clock[r];
    while (early.left(g, r, kind) > 0 && w.bytes <= filler_->free_bytes(g, r)) {
      if (w.copies && (gap.ready <= copied || copied + w.piece > until)) break;
      if (!w.copies && !run_early(group, r, {w.piece, w.beside_waiting, w.beside_moving, w.provenance}, gap, until))
        break;
      if (w.copies) {
        copied = copied + w.piece;
        filler_->sums().early += w.piece;
      }
      early.did(g, r, kind, 1);
      filler_->note_bytes(g, r);
    }
  }
}

// A backward op is shorter by what of its recomputation is done; ranks told each other with the token counts.
bool Replica::skip_recomputed(const Group& group, const Op& op, const Action& a, bool differ) {
  if (!filler_ || op.ahead == 0 || a.kind != ActionKind::B) return differ;
  const auto g = static_cast<std::size_t>(&group - groups_.data());
  if (!differ) std::fill(work_.begin() + 1, work_.end(), work_[0]);
  if (planned_count_ == 1) std::fill(planned_.begin() + 1, planned_.end(), planned_[0]);
  planned_count_ = n_;
  for (std::size_t r = 0; r < n_; ++r) {
    const Duration done = filler_->early().use_ahead(g, r, {a.stage.value, a.micro_batch.value}, op.ahead);
    work_[r] = max(Duration{}, work_[r] - done);
    planned_[r] = max(Duration{}, planned_[r] - done);
  }
  return true;
}

// For finish_step: spare work that found no idle time.
void Replica::note_spare_left() {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<SpareWork>& spare = program_.positions[g].spare;
    if (spare.empty()) continue;
    Duration all;
    for (const SpareWork& w : spare) all += w.piece * w.pieces;
    groups_[g].spare_left.assign(n_, all);
    if (!filler_) continue;
    for (std::size_t r = 0; r < n_; ++r) groups_[g].spare_left[r] = filler_->early().left(g, r);
  }
}

} // namespace tessella
