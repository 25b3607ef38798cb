// A GPU bench from four small functions over a plain struct of device memory; the counterpart of
// calib/host/state_case.h. For kernels of our own, which all look alike from outside.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "calib/bench/samples.h"
#include "calib/device/gpu_context.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

template <class State>
struct GpuOp {
  Work work;
  std::function<State(std::uint64_t seed)> make; // random inputs, poisoned outputs; may be asynchronous on the stream
  std::function<void(State&)> run;
  std::function<void(State&, const SampleBuffer&)> sample; // launches the check kernel
  double tolerance = 0.02;                                 // of bf16 results
};

template <class State>
class GpuStateCase : public OpCase {
 public:
  GpuStateCase(const GpuContext& gpu, GpuOp<State> op) : gpu_(gpu), op_(std::move(op)) {}
  Work work() const override { return op_.work; }
  void prepare(std::size_t sets) override {
    states_.clear();
    for (std::size_t s = 0; s < sets; ++s) states_.push_back(op_.make(s + 1));
    gpu_.stream().wait();
  }
  void launch(std::size_t set) override { op_.run(states_[set]); }
  double verify() override {
    const SampleBuffer samples;
    op_.sample(states_.front(), samples);
    return samples.error(gpu_.stream());
  }
  double tolerance(const OpShape&) const override { return op_.tolerance; }

 private:
  const GpuContext& gpu_;
  GpuOp<State> op_;
  std::vector<State> states_;
};

template <class State>
std::unique_ptr<OpCase> gpu_case_of(const GpuContext& gpu, GpuOp<State> op) {
  return std::make_unique<GpuStateCase<State>>(gpu, std::move(op));
}

// Blocks of `threads` for `work` items, one item per thread, at most `most` blocks: kernels stride over the rest.
inline unsigned blocks_for(std::int64_t work, int threads, std::int64_t most = 1 << 20) {
  const std::int64_t blocks = (work + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

// Grid of a check kernel with one thread per sample.
inline constexpr unsigned kSampleBlocks = kSamples / 64;
inline constexpr unsigned kSampleThreads = 64;

} // namespace tessella::calib
