// to_torch_grid() and lower_to_comms() of torch_csv.h.
#include <fmt/format.h>

#include <array>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/schedule/slot_index.h"
#include "sim/schedule/torch_csv.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

void require_one_direction(const Schedule& schedule) {
  for (const auto& holders : schedule.stage_ranks)
    if (holders.size() != 1)
      throw InputError(schedule.name, "holds stages on two ranks; torch.distributed.pipelining has one rank per stage");
}

class Lowering {
 public:
  explicit Lowering(const Schedule& schedule) : schedule_(schedule), next_(schedule.ranks.size()) {
    grid_.rows.resize(schedule.ranks.size());
    for (auto& flags : here_) flags.resize(at(schedule.num_stages) * at(schedule.num_micro_batches));
  }

  TorchGrid run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < next_.size(); ++r) {
        if (next_[r] == schedule_.ranks[r].size()) continue;
        const Slot& slot = schedule_.ranks[r][next_[r]];
        if (!ready(slot)) continue;
        ++next_[r];
        moved = true;
        grid_.rows[r].emplace_back(slot);
        for_each_action(slot, [&](const Action& a) { pass_on(r, a); });
      }
    }
    for (std::size_t r = 0; r < next_.size(); ++r) TSL_CHECK_OP(next_[r], ==, schedule_.ranks[r].size());
    return std::move(grid_);
  }

 private:
  std::size_t key(std::int32_t stage, std::int32_t j) const {
    return at(stage) * at(schedule_.num_micro_batches) + at(j);
  }

  std::optional<std::int32_t> next_stage(const Action& a) const {
    if (a.kind == ActionKind::W) return std::nullopt;
    const std::int32_t next = a.stage.value + (a.kind == ActionKind::F ? 1 : -1);
    if (next < 0 || next >= schedule_.num_stages) return std::nullopt;
    return next;
  }

  bool ready(const Slot& slot) const {
    bool all = true;
    for_each_action(slot, [&](const Action& a) {
      const bool forward = a.kind == ActionKind::F;
      const bool first = a.stage.value == (forward ? 0 : schedule_.num_stages - 1);
      if (a.kind != ActionKind::W && !first && !here_[forward ? 0 : 1][key(a.stage.value, a.micro_batch.value)])
        all = false;
    });
    return all;
  }

  // The tensor of `a` is at its next stage from now on; across ranks by a send here and a receive there.
  void pass_on(std::size_t rank, const Action& a) {
    const auto next = next_stage(a);
    if (!next) return;
    const bool forward = a.kind == ActionKind::F;
    here_[forward ? 0 : 1][key(*next, a.micro_batch.value)] = true;
    const std::size_t to = at(schedule_.stage_ranks[at(*next)].front().value);
    if (to == rank) return;
    grid_.rows[rank].emplace_back(CommAction{a.stage, forward ? CommKind::SEND_F : CommKind::SEND_B, a.micro_batch});
    grid_.rows[to].emplace_back(CommAction{Stage{*next}, forward ? CommKind::RECV_F : CommKind::RECV_B, a.micro_batch});
  }

  const Schedule& schedule_;
  std::vector<std::size_t> next_;         // [rank] slot
  std::array<std::vector<bool>, 2> here_; // [forward, backward][stage * m + micro-batch]: its input has arrived
  TorchGrid grid_;
};

} // namespace

TorchGrid to_torch_grid(const Schedule& schedule) {
  require_one_direction(schedule);
  TorchGrid grid;
  for (const auto& slots : schedule.ranks) grid.rows.emplace_back(slots.begin(), slots.end());
  return grid;
}

TorchGrid lower_to_comms(const Schedule& schedule) {
  require_one_direction(schedule);
  return Lowering(schedule).run();
}

} // namespace tessella
