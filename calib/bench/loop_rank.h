// One rank of the closed loop on GPUs: the device calls of a program, and nothing else.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calib/bench/bench_table.h"
#include "calib/device/gpu_context.h"
#include "calib/host/crew.h"
#include "calib/loop/program.h"

namespace tessella::calib {

// A communicator of this rank that aborts what is still under way when it goes.
class Comm {
 public:
  explicit Comm(ncclComm_t comm) : comm_(comm) {}
  ~Comm() {
    if (comm_ != nullptr) CALIB_CUDA_NOEXCEPT(ncclCommAbort(comm_));
  }
  Comm(Comm&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
  Comm& operator=(Comm&&) = delete;
  ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_;
};

// Communicators of all ranks, made together: world, EP groups, and one pair for each channel, so that messages of one
// channel never queue behind those of another.
struct LoopComms {
  std::vector<std::optional<Comm>> world;                                    // [rank]; nothing with one rank
  std::vector<std::optional<Comm>> group;                                    // [rank]; nothing without EP
  std::vector<std::pair<std::optional<Comm>, std::optional<Comm>>> channels; // [channel] sender's, receiver's
};
LoopComms make_comms(const LoopProgram& program, int ep);

class LoopRank {
 public:
  // Prepares the kernels and memory of one rank, on GPU `rank`. Throws NoDevice, OutOfMemory, DeviceError.
  LoopRank(const LoopProgram& program, int rank, const LoopComms& comms);

  // One message through every channel, in the same order on all ranks: NCCL connects at the first message, and both
  // ends wait there.
  void connect();
  // Marks the beginning of a step; ranks do it together.
  void begin_step();
  // Launches everything and returns when it is done. Throws DeviceError naming rank and op after the deadline, Stopped
  // when another rank failed.
  void run(const StopFlag& stop);
  // Seconds since begin_step(), one event per step of the program.
  std::vector<LoopEvent> events() const;

 private:
  struct Link {
    Comm const* comm = nullptr;
    std::unique_ptr<Stream> stream;
  };
  void issue(std::size_t i);
  void transfer(const ProgramStep& step, std::size_t i);
  void exchange(const ProgramStep& step);
  void wait(const StopFlag& stop);
  double since_begin(const Event& e) const;

  const LoopProgram& program_;
  int rank_;
  GpuContext gpu_;
  std::vector<std::unique_ptr<OpCase>> kernels_; // by index; nothing where this rank does not run it
  std::vector<Link> links_;                      // by channel
  ncclComm_t world_ = nullptr;
  ncclComm_t group_ = nullptr;
  DeviceMemory send_, receive_;
  Event begin_;
  std::vector<std::unique_ptr<Event>> starts_, ends_; // by step
};

} // namespace tessella::calib
