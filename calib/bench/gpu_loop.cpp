// Threads as ranks, a GPU for each; kernels and collectives measured by the same machine as `run`.
#include <algorithm>
#include <map>
#include <thread>

#include "calib/bench/loop_rank.h"
#include "calib/device/gpu_loop.h"
#include "calib/device/machine.h"

namespace tessella::calib {
namespace {

MeasureOptions measure_options() {
  MeasureOptions o;
  o.stop.max_samples = 100;
  o.stop.max_seconds = 0.5;
  o.batch_seconds = 1e-3;
  return o;
}

// All ranks of a plan, ready to run.
class GpuPlan {
 public:
  GpuPlan(const LoopModel& model, const LoopPlan& plan) : program_(program_of(model, plan)) {
    comms_ = std::make_unique<LoopComms>(make_comms(program_, plan.ep));
    for (int r = 0; r < plan.world(); ++r) ranks_.push_back(std::make_unique<LoopRank>(program_, r, *comms_));
    on_ranks([](LoopRank& rank) { rank.connect(); });
  }

  ExecutedStep run_step() {
    std::atomic<std::size_t> ready{0};
    on_ranks([&](LoopRank& rank) {
      ++ready; // begin together: the threads start one after another
      while (ready < ranks_.size()) {
        if (stop_) throw Stopped();
        std::this_thread::yield();
      }
      rank.begin_step();
      rank.run(stop_);
    });
    ExecutedStep step;
    for (const auto& rank : ranks_) {
      step.events.push_back(rank->events());
      for (const LoopEvent& e : step.events.back()) step.seconds = std::max(step.seconds, e.end);
    }
    settle_waits(program_, step.events);
    return step;
  }

 private:
  template <class Body>
  void on_ranks(Body body) {
    run_ranks(static_cast<int>(ranks_.size()), stop_, [&](int r) { body(*ranks_[static_cast<std::size_t>(r)]); });
  }

  LoopProgram program_;
  std::vector<std::unique_ptr<LoopRank>> ranks_;
  std::unique_ptr<LoopComms> comms_; // ends before the ranks: freeing memory waits for what a hanging message holds
  StopFlag stop_ = false;
};

class GpuLoop : public LoopMachine {
 public:
  GpuLoop(const LoopModel& model, const std::vector<LoopPlan>& plans) : model_(model), plans_(plans) {}

  DeviceIdentity identity() const override { return machine(1).identity(); }
  std::int64_t memory_bytes() const override {
    cudaDeviceProp p{};
    CALIB_CUDA(cudaGetDeviceProperties(&p, 0));
    return static_cast<std::int64_t>(p.totalGlobalMem);
  }
  std::vector<LoopShape> shapes() const override { return program_shapes(model_, plans_); }

  // The first row that tells a time: of a fused kernel, or of what stands in for it.
  RawRow measure(const OpShape& shape) override {
    const std::vector<RawRow> rows = machine(static_cast<int>(shape.ranks)).measure(shape, measure_options());
    const auto good =
        std::find_if(rows.begin(), rows.end(), [](const RawRow& row) { return row.status == RowStatus::ok; });
    return good == rows.end() ? rows.front() : *good;
  }

  // A plan holds memory of its kernels only while it runs.
  std::vector<ExecutedStep> run(std::size_t plan, int warmup, int wanted, int) override {
    machines_.clear();
    GpuPlan executed(model_, plans_[plan]);
    for (int i = 0; i < warmup; ++i) executed.run_step();
    std::vector<ExecutedStep> steps;
    for (int i = 0; i < wanted; ++i) steps.push_back(executed.run_step());
    return steps;
  }

 private:
  // Collectives over the first `ranks` GPUs, kernels on GPU 0.
  Machine& machine(int ranks) const {
    std::unique_ptr<Machine>& m = machines_[ranks];
    if (!m) {
      CudaPlace place;
      place.gpus = ranks;
      m = cuda_machine(place);
    }
    return *m;
  }

  LoopModel model_;
  std::vector<LoopPlan> plans_;
  mutable std::map<int, std::unique_ptr<Machine>> machines_; // made when asked for
};

} // namespace

LoopModel gpu_loop_model() {
  LoopModel m;
  m.hidden = 2048;
  m.heads = 16;
  m.kv_heads = 4;
  m.head_dim = 128;
  m.experts = 16;
  m.topk = 4;
  m.expert_ffn = 1024;
  m.vocab = 32768;
  m.layers = 4;
  m.seq = 4096;
  return m;
}

int gpu_count() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess) return gpus;
  cudaGetLastError();
  return 0;
}

std::unique_ptr<LoopMachine> gpu_loop(const LoopModel& model, const std::vector<LoopPlan>& plans) {
  for (const LoopPlan& plan : plans)
    if (plan.world() > gpu_count())
      throw NoDevice("plan " + plan.name + " needs " + std::to_string(plan.world()) + " GPUs, this process sees " +
                     std::to_string(gpu_count()));
  return std::make_unique<GpuLoop>(model, plans);
}

} // namespace tessella::calib
