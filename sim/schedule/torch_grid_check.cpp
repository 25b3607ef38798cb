#include "sim/schedule/torch_grid_check.h"

#include <fmt/format.h>

#include <map>

#include "sim/schedule/slot_index.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// The computation of the grid, and for each of its slots the cell it came from.
struct Computation {
  Schedule schedule;
  GridSource source;                              // cells of slots only
  std::vector<std::vector<std::int32_t>> cell_of; // [rank][slot] -> index in the row
  bool has_comms = false;                         // sends or receives
};

Computation computation_of(const PositionedGrid& positioned, const std::string& name) {
  Computation c;
  c.schedule.name = name;
  c.source = {positioned.source.file, positioned.source.lines, {}, positioned.source.row_line};
  for (std::size_t r = 0; r < positioned.grid.rows.size(); ++r) {
    auto& slots = c.schedule.ranks.emplace_back();
    auto& texts = c.source.cells.emplace_back();
    auto& cells = c.cell_of.emplace_back();
    for (std::size_t i = 0; i < positioned.grid.rows[r].size(); ++i) {
      const TorchCell& cell = positioned.grid.rows[r][i];
      if (const auto* comm = std::get_if<CommAction>(&cell)) c.has_comms |= comm->micro_batch.has_value();
      const Slot* slot = std::get_if<Slot>(&cell);
      if (slot == nullptr) continue;
      slots.push_back(*slot);
      texts.push_back(positioned.source.cells[r][i]);
      cells.push_back(static_cast<std::int32_t>(i));
    }
  }
  return c;
}

// torch keeps each stage on one rank.
void require_one_rank_per_stage(const Computation& c) {
  for (const auto& holders : c.schedule.stage_ranks) {
    if (holders.size() < 2) continue;
    const auto stage = static_cast<std::int32_t>(&holders - c.schedule.stage_ranks.data());
    const std::size_t rank = at(holders[1].value);
    for (std::size_t i = 0; i < c.schedule.ranks[rank].size(); ++i) {
      const Slot& slot = c.schedule.ranks[rank][i];
      if (slot.first.stage.value == stage || (slot.second && slot.second->stage.value == stage))
        throw InputError(c.source.span(c.source.cells[rank][i]),
                         fmt::format("{} puts stage {} on rank {}, which rank {} holds: torch has one rank per stage",
                                     to_text(slot), stage, rank, holders[0].value));
    }
  }
}

class CommChecker {
 public:
  CommChecker(const PositionedGrid& positioned, const Computation& c)
      : positioned_(positioned), c_(c), index_(c.schedule) {}

  void check() {
    for (std::size_t r = 0; r < positioned_.grid.rows.size(); ++r)
      for (std::size_t i = 0; i < positioned_.grid.rows[r].size(); ++i)
        if (const auto* comm = std::get_if<CommAction>(&positioned_.grid.rows[r][i])) take(*comm, r, i);
    require_all_tensors();
    require_same_order();
  }

 private:
  struct Tensor { // named after the action that makes it
    Pass pass;
    std::int32_t stage;
    std::int32_t micro_batch;
    auto operator<=>(const Tensor&) const = default;
  };
  struct Place {
    std::size_t rank;
    std::size_t cell;
  };
  struct Ends {
    SlotRef made;
    SlotRef used;
  };

  SourceSpan span(Place p) const { return positioned_.source.span(positioned_.source.cells[p.rank][p.cell]); }
  std::size_t cell_of(SlotRef ref) const { return at(c_.cell_of[at(ref.rank.value)][at(ref.slot)]); }

  // Where the tensor is made and used; nothing when it stays on its rank or has no user.
  std::optional<Ends> ends(const Tensor& t) const {
    const std::int32_t next = t.stage + (t.pass == Pass::forward ? 1 : -1);
    const std::int32_t stages = c_.schedule.num_stages;
    if (t.stage < 0 || t.stage >= stages || next < 0 || next >= stages ||
        t.micro_batch >= c_.schedule.num_micro_batches)
      return std::nullopt;
    const Ends result{index_.find(t.pass, t.stage, t.micro_batch).value(),
                      index_.find(t.pass, next, t.micro_batch).value()};
    if (result.made.rank == result.used.rank) return std::nullopt;
    return result;
  }

  void take(const CommAction& comm, std::size_t rank, std::size_t cell) {
    if (!comm.micro_batch) return; // UNSHARD, RESHARD, REDUCE_GRAD move no tensor between ranks
    const bool forward = comm.kind == CommKind::SEND_F || comm.kind == CommKind::RECV_F;
    const bool send = comm.kind == CommKind::SEND_F || comm.kind == CommKind::SEND_B;
    const std::int32_t made_by = comm.stage.value + (send ? 0 : forward ? -1 : 1);
    const Tensor tensor{forward ? Pass::forward : Pass::backward, made_by, comm.micro_batch->value};
    const Place here{rank, cell};
    const auto e = ends(tensor);
    const SlotRef* mine = e ? (send ? &e->made : &e->used) : nullptr;
    if (mine == nullptr || at(mine->rank.value) != rank)
      throw InputError(span(here), fmt::format("{}: no such tensor passes here", to_text(comm)));
    if (send && cell < cell_of(*mine))
      throw InputError(span(here), fmt::format("{} stands before the action that makes its tensor", to_text(comm)));
    if (!send && cell > cell_of(*mine))
      throw InputError(span(here), fmt::format("{} stands behind the action that uses its tensor", to_text(comm)));
    if (!(send ? sent_ : received_).emplace(tensor, here).second)
      throw InputError(span(here), fmt::format("{} stands twice", to_text(comm)));
    (send ? sends_ : receives_)[{e->made.rank, e->used.rank}].push_back(tensor);
  }

  void require_all_tensors() const {
    for (std::int32_t s = 0; s < c_.schedule.num_stages; ++s)
      for (std::int32_t j = 0; j < c_.schedule.num_micro_batches; ++j)
        for (const Pass pass : {Pass::forward, Pass::backward}) require_tensor({pass, s, j});
  }

  void require_tensor(const Tensor& tensor) const {
    const auto e = ends(tensor);
    if (!e) return;
    const bool forward = tensor.pass == Pass::forward;
    const MicroBatch j{tensor.micro_batch};
    if (!sent_.contains(tensor))
      throw InputError(
          span({at(e->made.rank.value), cell_of(e->made)}),
          fmt::format("{} is missing behind this cell",
                      to_text(CommAction{Stage{tensor.stage}, forward ? CommKind::SEND_F : CommKind::SEND_B, j})));
    const Stage user{tensor.stage + (forward ? 1 : -1)};
    if (!received_.contains(tensor))
      throw InputError(span({at(e->used.rank.value), cell_of(e->used)}),
                       fmt::format("{} is missing before this cell",
                                   to_text(CommAction{user, forward ? CommKind::RECV_F : CommKind::RECV_B, j})));
  }

  // A link delivers in order: the k-th receive meets the k-th send.
  void require_same_order() const {
    for (const auto& [link, sent] : sends_) {
      const auto& received = receives_.at(link);
      for (std::size_t k = 0; k < sent.size(); ++k) {
        if (sent[k] == received[k]) continue;
        throw InputError(
            span(received_.at(received[k])),
            fmt::format("rank {} receives here what rank {} sends as another: the order of a link must be the "
                        "same on both ends",
                        link.second.value, link.first.value),
            {{span(sent_.at(sent[k])), "sent at this turn"}});
      }
    }
  }

  const PositionedGrid& positioned_;
  const Computation& c_;
  SlotIndex index_;
  std::map<Tensor, Place> sent_;
  std::map<Tensor, Place> received_;
  std::map<std::pair<PpRank, PpRank>, std::vector<Tensor>> sends_; // in the sender's order
  std::map<std::pair<PpRank, PpRank>, std::vector<Tensor>> receives_;
};

} // namespace

Schedule check_torch_grid(const PositionedGrid& positioned, const std::string& name) {
  Computation c = computation_of(positioned, name);
  count_and_place(c.schedule, c.source);
  require_one_rank_per_stage(c);
  require_sound(c.schedule, c.source);
  if (c.has_comms) CommChecker(positioned, c).check();
  return std::move(c.schedule);
}

} // namespace tessella
