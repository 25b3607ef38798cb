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

  // Runs one collective (op all_to_all, all_gather, reduce_scatter, all_reduce or send_recv to the next rank) of
  // nccl-tests' size `bytes` on all local GPUs, `times` times in a row; returns seconds of one, the slowest local GPU.
  // Throws DeviceError naming the op after the deadline.
  double run(const std::string& op, std::size_t bytes, int times);
  // Fills inputs so that every element of the result is known, runs once and compares: the largest relative error.
  double verify(const std::string& op, std::size_t bytes);

 private:
  struct Local;
  void launch(const std::string& op, std::size_t bytes, Local& local);
  void launch_all(const std::string& op, std::size_t bytes);
  bool settled(const std::string& op, const Local& local);
  template <class Idle>
  void poll(const std::string& op, Idle idle);
  void settle(const std::string& op);
  void wait(const std::string& op);
  [[noreturn]] void give_up(const std::string& op);
  void abandon();
  void reserve(std::size_t bytes);

  CudaPlace place_;
  int ranks_ = 1;
  std::vector<std::unique_ptr<Local>> locals_;
};

} // namespace tessella::calib
