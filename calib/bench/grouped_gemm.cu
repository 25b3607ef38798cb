// Expert GEMMs with uneven tokens: one cuBLASLt product per expert, dealt over four streams, as Transformer Engine runs
// grouped linear layers. Experts without tokens are skipped.
#include <algorithm>
#include <array>
#include <vector>

#include "calib/bench/bench_table.h"
#include "calib/bench/lt_gemm.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kStreams = 4;

struct ExpertOperands {
  DeviceMemory a;
  DeviceMemory b;
  DeviceMemory d;
};

std::size_t count(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
}

GemmSpec expert_spec(const OpShape& s, std::int64_t tokens) {
  const std::int64_t in = s.dim("in");
  const std::int64_t out = s.dim("out");
  if (s.op.find("_wgrad") != std::string::npos) return gemm_spec(s.op, s.dtype, out, in, tokens);
  if (s.op.find("_dgrad") != std::string::npos) return gemm_spec(s.op, s.dtype, tokens, in, out);
  return gemm_spec(s.op, s.dtype, tokens, out, in);
}

class GroupedGemmCase : public OpCase {
 public:
  GroupedGemmCase(const GpuContext& gpu, const OpShape& shape) : gpu_(gpu) {
    for (const std::int64_t tokens : expert_tokens(shape)) {
      const std::int64_t padded = shape.dtype == "fp8" ? (tokens + 15) / 16 * 16 : tokens; // fp8 wants multiples of 16
      if (padded > 0) gemms_.emplace_back(gpu, expert_spec(shape, padded));
    }
    for (DeviceMemory& w : workspaces_) w = DeviceMemory(gpu.workspace_bytes());
  }

  Work work() const override {
    Work w;
    for (const LtGemm& g : gemms_) {
      const GemmSpec& s = g.spec();
      const double m = static_cast<double>(s.m);
      const double n = static_cast<double>(s.n);
      const double k = static_cast<double>(s.k);
      w.flops += 2.0 * m * n * k;
      w.bytes += static_cast<double>(size_of(s.in)) * (m * k + k * n) +
                 (s.accumulate ? 8.0 : static_cast<double>(size_of(s.out))) * m * n;
      w.footprint += size_of(s.in) * (count(s.m, s.k) + count(s.k, s.n)) + size_of(s.out) * count(s.m, s.n);
    }
    return w;
  }

  void prepare(std::size_t sets) override {
    sets_.clear();
    std::uint64_t seed = 1;
    for (std::size_t i = 0; i < sets; ++i) {
      std::vector<ExpertOperands>& experts = sets_.emplace_back();
      for (const LtGemm& g : gemms_) {
        const GemmSpec& s = g.spec();
        ExpertOperands o{random_memory(count(s.m, s.k), s.in, seed, gpu_.stream()),
                         random_memory(count(s.k, s.n), s.in, seed + 1, gpu_.stream()),
                         DeviceMemory(count(s.m, s.n) * size_of(s.out))};
        seed += 2;
        if (s.accumulate)
          CALIB_CUDA(cudaMemsetAsync(o.d.get(), 0, o.d.bytes(), gpu_.stream().get()));
        else
          poison(o.d, gpu_.stream());
        experts.push_back(std::move(o));
      }
    }
    gpu_.stream().wait();
  }

  void launch(std::size_t set) override {
    begun_.record(gpu_.stream());
    for (const Stream& s : streams_) CALIB_CUDA(cudaStreamWaitEvent(s.get(), begun_.get(), 0));
    for (std::size_t e = 0; e < gemms_.size(); ++e) {
      const ExpertOperands& o = sets_[set][e];
      gemms_[e].run(o.a.get(), o.b.get(), o.d.get(), streams_[e % kStreams].get(), workspaces_[e % kStreams].get());
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      ended_[i].record(streams_[i]);
      CALIB_CUDA(cudaStreamWaitEvent(gpu_.stream().get(), ended_[i].get(), 0));
    }
  }

  double verify() override {
    double worst = 0.0;
    for (std::size_t e = 0; e < gemms_.size(); ++e) {
      const ExpertOperands& o = sets_.front()[e];
      const double error = gemm_error(gpu_, gemms_[e].spec(), o.a.get(), o.b.get(), o.d.get());
      if (!(error <= worst)) worst = error; // not a number stays
    }
    return worst;
  }

 private:
  const GpuContext& gpu_;
  std::vector<LtGemm> gemms_; // per expert with tokens
  std::array<Stream, kStreams> streams_;
  std::array<DeviceMemory, kStreams> workspaces_;
  Event begun_{false};
  std::array<Event, kStreams> ended_{Event(false), Event(false), Event(false), Event(false)};
  std::vector<std::vector<ExpertOperands>> sets_;
};

} // namespace

std::unique_ptr<OpCase> grouped_gemm_case(const GpuContext& gpu, const OpShape& shape) {
  return std::make_unique<GroupedGemmCase>(gpu, shape);
}

} // namespace tessella::calib
