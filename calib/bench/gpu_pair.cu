#include "calib/device/gpu_pair.h"

#include <array>
#include <cstdio>
#include <functional>

#include "calib/bench/lt_gemm.h"
#include "calib/bench/stand_in.h"
#include "calib/device/machine.h"
#include "calib/loop/two_streams.h"
#include "calib/protocol/statistics.h"

namespace tessella::calib {
namespace {

constexpr int kRepeats = 21;
constexpr std::size_t kTransferMemory = std::size_t{512} << 20;

// A GEMM with its own operands.
class Product {
 public:
  Product(const GpuContext& gpu, const std::string& op, std::int64_t m, std::int64_t n, std::int64_t k,
          std::uint64_t seed)
      : gemm_(gpu, gemm_spec(op, "bf16", m, n, k)),
        a_(random_memory(static_cast<std::size_t>(m * k), Element::bf16, seed, gpu.stream())),
        b_(random_memory(static_cast<std::size_t>(k * n), Element::bf16, seed + 1, gpu.stream())),
        d_(static_cast<std::size_t>(m * n) * 4) {
    CALIB_CUDA(cudaMemsetAsync(d_.get(), 0, d_.bytes(), gpu.stream().get()));
    gpu.stream().wait();
  }
  void run(cudaStream_t stream, void* workspace) const { gemm_.run(a_.get(), b_.get(), d_.get(), stream, workspace); }

 private:
  LtGemm gemm_;
  DeviceMemory a_, b_, d_;
};

// The GEMMs of one node of the pair.
using Node = std::vector<Product>;

class Pair {
 public:
  Pair(const GpuContext& gpu, const PairSpec& s) : gpu_(gpu), spec_(s), transfer_memory_(kTransferMemory) {
    const std::int64_t qkv = s.heads_width + s.heads_width / 8; // keys and values have a sixteenth of the heads each
    const std::int64_t wide = 2 * s.expert_ffn;
    const auto add = [&](std::size_t node, const char* op, std::int64_t m, std::int64_t n, std::int64_t k) {
      nodes_[node].emplace_back(gpu, op, m, n, k, seed_ += 2);
    };
    add(0, "gemm", s.tokens, qkv, s.hidden);
    add(0, "gemm", s.tokens, s.hidden, s.heads_width);
    add(1, "gemm_dgrad", s.expert_rows, s.expert_ffn, s.hidden);
    add(1, "gemm_dgrad", s.expert_rows, s.hidden, wide);
    add(2, "gemm_wgrad", s.hidden, s.expert_ffn, s.expert_rows);
    add(2, "gemm_wgrad", wide, s.hidden, s.expert_rows);
    add(3, "gemm", s.expert_rows, wide, s.hidden);
    add(3, "gemm", s.expert_rows, s.hidden, s.expert_ffn);
    add(4, "gemm_dgrad", s.tokens, s.heads_width, s.hidden);
    add(4, "gemm_dgrad", s.tokens, s.hidden, qkv);
    add(5, "gemm_wgrad", s.hidden, s.heads_width, s.tokens);
    add(5, "gemm_wgrad", qkv, s.hidden, s.tokens);
    CALIB_CUDA(cudaMemsetAsync(transfer_memory_.get(), 1, kTransferMemory, gpu.stream().get()));
    gpu.stream().wait();
  }

  // Median seconds of one node on the compute stream.
  double compute_alone(std::size_t node) {
    return time([&] { compute(node); });
  }
  double transfer_alone() {
    return time([&] { transfer(gpu_.stream().get()); });
  }

  // All ten ops on two streams with their dependencies; medians over runs.
  Summary execute(const std::vector<StreamOp>& ops) {
    std::vector<double> samples;
    for (int i = 0; i < kRepeats + 3; ++i) {
      const double seconds = once(ops);
      if (i >= 3) samples.push_back(seconds);
    }
    return summary_of(samples);
  }

 private:
  void compute(std::size_t node) {
    for (const Product& p : nodes_[node]) p.run(gpu_.stream().get(), gpu_.workspace());
  }
  void transfer(cudaStream_t stream) {
    launch_transfer(gpu_, spec_.sms, spec_.gbps, spec_.transfer, transfer_memory_, stream);
  }

  double time(const std::function<void()>& work) {
    std::vector<double> samples;
    for (int i = 0; i < kRepeats + 3; ++i) {
      begin_.record(gpu_.stream());
      work();
      end_.record(gpu_.stream());
      gpu_.stream().wait();
      float ms = 0.0F;
      CALIB_CUDA(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
      if (i >= 3) samples.push_back(static_cast<double>(ms) * 1e-3);
    }
    return median(samples);
  }

  // Issue order: as the dependencies allow, so that no stream waits for an event that is not recorded yet.
  double once(const std::vector<StreamOp>& ops) {
    constexpr std::array<std::size_t, 10> kIssue = {6, 0, 7, 1, 8, 2, 3, 9, 4, 5};
    begin_.record(gpu_.stream());
    CALIB_CUDA(cudaStreamWaitEvent(communication_.get(), begin_.get(), 0));
    for (const std::size_t i : kIssue) {
      cudaStream_t stream = ops[i].stream == 0 ? gpu_.stream().get() : communication_.get();
      for (const std::size_t before : ops[i].after) CALIB_CUDA(cudaStreamWaitEvent(stream, done_[before].get(), 0));
      if (ops[i].stream == 0)
        compute(i);
      else
        transfer(stream);
      done_[i].record(ops[i].stream == 0 ? gpu_.stream() : communication_);
    }
    CALIB_CUDA(cudaStreamWaitEvent(gpu_.stream().get(), done_[9].get(), 0));
    end_.record(gpu_.stream());
    gpu_.stream().wait();
    float ms = 0.0F;
    CALIB_CUDA(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
    return static_cast<double>(ms) * 1e-3;
  }

  const GpuContext& gpu_;
  PairSpec spec_;
  DeviceMemory transfer_memory_;
  std::uint64_t seed_ = 1;
  std::array<Node, 6> nodes_; // in the order of layer_pair()
  Stream communication_{true};
  Event begin_;
  Event end_;
  std::array<Event, 10> done_{Event(false), Event(false), Event(false), Event(false), Event(false),
                              Event(false), Event(false), Event(false), Event(false), Event(false)};
};

std::string line_of(const StreamOp& op, const StreamSpan& span) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%-12s alone %8.1f us, beside the other stream x %.3f, predicted %8.1f us",
                op.name.c_str(), 1e6 * op.seconds, op.factor, 1e6 * (span.end - span.begin));
  return text.data();
}

} // namespace

PairResult run_gpu_pair(const PairSpec& spec, int device) {
  cuda_machine({device, 0, 1, nullptr}); // throws NoDevice with the reason
  const GpuContext gpu(device);
  Pair pair(gpu, spec);
  std::array<double, 6> alone{};
  std::array<double, 6> factor{};
  for (std::size_t n = 0; n < alone.size(); ++n) alone[n] = pair.compute_alone(n);
  {
    const StandIn neighbour(gpu, spec.sms, spec.gbps);
    for (std::size_t n = 0; n < alone.size(); ++n) factor[n] = std::max(1.0, pair.compute_alone(n) / alone[n]);
  }
  const double transfer = pair.transfer_alone();
  const auto times = [](const std::array<double, 6>& c, double comm) {
    return PairTimes{c[0], c[1], c[2], c[3], c[4], c[5], comm, comm, comm, comm};
  };
  const std::vector<StreamOp> ops = layer_pair(times(alone, transfer), times(factor, 1.0)); // transfers are paced
  const std::vector<StreamSpan> spans = replay(ops);
  const Summary executed = pair.execute(ops);
  PairResult r;
  for (const StreamOp& op : ops) r.serial += op.seconds;
  r.executed = executed.median;
  r.mad = executed.mad;
  r.predicted = makespan(spans);
  r.error = r.predicted / r.executed - 1.0;
  for (std::size_t i = 0; i < ops.size(); ++i) r.details.push_back(line_of(ops[i], spans[i]));
  return r;
}

} // namespace tessella::calib
