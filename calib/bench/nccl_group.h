// The ranks of a collective bench: one GPU per process, or all GPUs of one process. Every call has a deadline: a
// collective that does not end is aborted and named, instead of hanging the job.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "calib/bench/fill.h"
#include "calib/device/device_memory.h"
#include "calib/device/machine.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

class NcclGroup {
 public:
  // With a rendezvous: rank `place.rank` of `place.world`, on place.device. Without: all GPUs of this machine, or
  // nothing when there is only one. Throws DeviceError, RankLost.
  explicit NcclGroup(const CudaPlace& place);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int ranks() const { return ranks_; }

  // Runs one collective (op all_to_all, all_gather, reduce_scatter, all_reduce or send_recv to the next rank; dims
  // bytes, as nccl-tests counts them, and skew for an all-to-all of uneven parts) on all local GPUs, `times` times in a
  // row; returns seconds of one, the slowest local GPU. Throws DeviceError naming the op after the deadline.
  double run(const OpShape& shape, int times);
  // Fills inputs so that every element of the result is known, runs once and compares: the largest relative error.
  double verify(const OpShape& shape);

 private:
  struct Local;
  // What a rank sends to each rank, in floats.
  struct Exchange {
    std::string op;
    std::size_t all = 0;
    std::vector<std::size_t> parts;
    std::vector<std::size_t> offsets;
  };
  Exchange exchange_of(const OpShape& shape) const;
  static double expected(const Exchange& x, std::size_t rank, std::size_t i);
  void launch_all_to_all(const Exchange& x, const Local& local);
  void launch(const Exchange& x, const Local& local);
  void launch_all(const Exchange& x);
  bool settled(const std::string& op, const Local& local);
  template <class Idle>
  void poll(const std::string& op, Idle idle);
  void settle(const std::string& op);
  void wait(const std::string& op);
  [[noreturn]] void give_up(const std::string& op);
  void abandon();
  void reserve(const Exchange& x);

  CudaPlace place_;
  int ranks_ = 1;
  std::vector<std::unique_ptr<Local>> locals_;
};

} // namespace tessella::calib
