// A plan as a list of device work for each rank: kernels by shape, messages by channel, exchanges, in the order in
// which a rank issues them. What the closed loop on GPUs runs; everything about it that needs no GPU is decided and
// checked here: which kernels, in which order, who sends what to whom, and that nobody waits for ever.
//
// The kernels are those of calib/loop/moe_layer.h and calib/loop/stage.h, by the same names. On a GPU each works on
// operands of its own: times do not depend on values, and the host's loop shows that the order computes a training
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calib/loop/plan.h"
#include "calib/loop/recorder.h"
#include "calib/protocol/op_case.h"
#include "sim/domain/schedule.h"

namespace tessella::calib {

enum class StepKind : unsigned char {
  kernel,   // `index` of LoopProgram::kernels
  receive,  // the next message of channel `index`
  send,     // a message into channel `index`
  exchange, // all-to-all over the EP group, `bytes` to all ranks together
  reduce    // all-reduce over the EP group (in_action false, ranks = ep) or over all ranks
};

struct ProgramStep {
  StepKind kind = StepKind::kernel;
  const char* op = ""; // name in the record
  std::size_t index = 0;
  std::int64_t bytes = 0; // of a message or exchange
  int ranks = 1;          // of an exchange or reduction
  Action action;
  bool in_action = false;
  bool operator==(const ProgramStep&) const = default;
};

// Messages of one kind (activations or gradients) from one rank to another; they arrive in the order sent, as over a
// stream of NCCL sends.
struct Channel {
  int from = 0;
  int to = 0;
  ActionKind kind = ActionKind::F;
  bool operator==(const Channel&) const = default;
};

struct LoopProgram {
  std::vector<OpShape> kernels;
  std::vector<Channel> channels;
  std::vector<std::vector<ProgramStep>> ranks;
};

// Ranks in the order ep-pp, EP fastest, as the host's loop. Elements are bf16, gradients fp32. Throws InputError for a
// plan that order_of() refuses, or whose messages would not match.
LoopProgram program_of(const LoopModel& model, const LoopPlan& plan);

// Plays the program with sends that a receiver must take in order: throws InputError naming the rank and step where
// nothing moves any more, or the message that comes where another is expected.
void check_progress(const LoopProgram& program, const std::string& name);

// Kernels with how often they run over all ranks, and the collectives at the sizes used and one other: what must be
// measured to simulate the plans.
struct LoopShape;
std::vector<LoopShape> program_shapes(const LoopModel& model, const std::vector<LoopPlan>& plans);

// Which part of a transfer was waiting: for a message, until its send began; for an exchange, until the last rank of
// the group came. Events of all ranks on one clock, one list per rank, in the order of the program.
void settle_waits(const LoopProgram& program, std::vector<std::vector<LoopEvent>>& events);

} // namespace tessella::calib
