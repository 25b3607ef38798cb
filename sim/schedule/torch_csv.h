// The CSV of torch.distributed.pipelining (torchtitan's pipeline_parallel_schedule_csv): one row per rank, one action
// per cell, no header. Compute only: `0F3`, `2I1`, `2W1`, `3B0`, `(0F8;7B0)OVERLAP_F_B`, empty = idle. With
// communication: also `0SEND_F1` (named after the producing stage), `1RECV_F1` (after the consuming one), SEND_B,
// RECV_B, UNSHARD, RESHARD, REDUCE_GRAD. Letters: B full backward, I input gradient, W weight gradient. Files from
// before torch's rename wrote BW for the full backward and B for the input gradient; they are recognised and say so in
// a note.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/domain/schedule.h"

namespace tessella {

enum class CommKind { SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD };

struct CommAction {
  Stage stage;
  CommKind kind = CommKind::SEND_F;
  std::optional<MicroBatch> micro_batch; // sends and receives have one
  bool operator==(const CommAction&) const = default;
};

std::string to_text(const CommAction& comm);

// std::monostate is an idle cell: a hint where torch's step grid has a hole, never a duration.
using TorchCell = std::variant<std::monostate, Slot, CommAction>;

struct TorchGrid {
  std::vector<std::vector<TorchCell>> rows; // [rank]
  std::vector<std::string> notes;           // what a reader of the file should know, such as old letters
  bool operator==(const TorchGrid&) const = default;
};

// Cells only; throws InputError with row and column on a cell that is none of the above. O(text).
TorchGrid parse_torch_csv(std::string_view text, const std::string& file);

// Today's letters; the exact bytes of a file that was written with them.
std::string to_csv(const TorchGrid& grid);

struct ImportedSchedule {
  Schedule schedule;
  std::vector<std::string> notes;
};

// The order in the file, checked: validate() on the computation; where there is communication, that every tensor that
// changes ranks is sent after it is made, received before it is used, and that both ends of a link agree on the order.
// Throws InputError at the first offending cell; a deadlock is printed with its cycle. `name` becomes the schedule's.
ImportedSchedule import_torch_csv(std::string_view text, const std::string& file, const std::string& name);

// The compute-only grid.
TorchGrid to_torch_grid(const Schedule& schedule);

// torch's lowering: ranks take turns in order, one action each if its inputs are there; an action is followed by its
// sends, and each receive is appended to its consumer's list at that very moment, which makes the order free of
// deadlocks. Needs a sound schedule whose stages have one rank each: torch knows no other (InputError).
TorchGrid lower_to_comms(const Schedule& schedule);

} // namespace tessella
