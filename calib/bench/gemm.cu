// Dense GEMM through cuBLASLt: bf16 and fp8 (e4m3), forward, input gradient, weight gradient. Kernel "best" tries the
// algorithms of the library's heuristic and keeps the fastest: the ceiling that the default choice is held against.
#include <algorithm>
#include <limits>
#include <vector>

#include "calib/bench/bench_table.h"
#include "calib/bench/lt_gemm.h"

namespace tessella::calib {
namespace {

constexpr int kCandidates = 32;

struct Operands {
  DeviceMemory a;
  DeviceMemory b;
  DeviceMemory d;
};

std::size_t count(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
}

class GemmCase : public OpCase {
 public:
  GemmCase(const GpuContext& gpu, const OpShape& shape)
      : gpu_(gpu), gemm_(gpu, gemm_spec(shape.op, shape.dtype, shape.dim("m"), shape.dim("n"), shape.dim("k")),
                         shape.kernel == "best" ? kCandidates : 1) {}

  Work work() const override {
    const GemmSpec& s = gemm_.spec();
    const double m = static_cast<double>(s.m);
    const double n = static_cast<double>(s.n);
    const double k = static_cast<double>(s.k);
    const double out = s.accumulate ? 8.0 : static_cast<double>(size_of(s.out)); // read and written
    Work w;
    w.flops = 2.0 * m * n * k;
    w.bytes = static_cast<double>(size_of(s.in)) * (m * k + k * n) + out * m * n;
    w.footprint = size_of(s.in) * (count(s.m, s.k) + count(s.k, s.n)) + size_of(s.out) * count(s.m, s.n);
    return w;
  }

  void prepare(std::size_t sets) override {
    const GemmSpec& s = gemm_.spec();
    sets_.clear();
    for (std::size_t i = 0; i < sets; ++i) {
      Operands o{random_memory(count(s.m, s.k), s.in, 2 * i + 1, gpu_.stream()),
                 random_memory(count(s.k, s.n), s.in, 2 * i + 2, gpu_.stream()),
                 DeviceMemory(count(s.m, s.n) * size_of(s.out))};
      reset(o.d);
      sets_.push_back(std::move(o));
    }
    gpu_.stream().wait();
    if (gemm_.candidates() > 1) choose_fastest();
  }

  void launch(std::size_t set) override {
    const Operands& o = sets_[set];
    gemm_.run(o.a.get(), o.b.get(), o.d.get(), gpu_.stream().get(), gpu_.workspace());
  }

  double verify() override {
    const Operands& o = sets_.front();
    return gemm_error(gpu_, gemm_.spec(), o.a.get(), o.b.get(), o.d.get());
  }

 private:
  void choose_fastest() {
    std::size_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < gemm_.candidates(); ++c) {
      gemm_.choose(c);
      const float ms = milliseconds();
      if (ms < least) best = c;
      least = std::min(least, ms);
    }
    gemm_.choose(best);
    reset(sets_.front().d); // verify() looks at the result of one run
  }
  // The least of three runs on one set, after one to warm up.
  float milliseconds() {
    launch(0);
    float least = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 3; ++i) {
      begin_.record(gpu_.stream());
      launch(0);
      end_.record(gpu_.stream());
      gpu_.stream().wait();
      float ms = 0.0F;
      CALIB_CUDA(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
      least = std::min(least, ms);
    }
    return least;
  }
  void reset(const DeviceMemory& d) const {
    if (gemm_.spec().accumulate)
      CALIB_CUDA(cudaMemsetAsync(d.get(), 0, d.bytes(), gpu_.stream().get()));
    else
      poison(d, gpu_.stream());
  }

  const GpuContext& gpu_;
  Event begin_;
  Event end_;
  LtGemm gemm_;
  std::vector<Operands> sets_;
};

} // namespace

std::unique_ptr<OpCase> gemm_case(const GpuContext& gpu, const OpShape& shape) {
  return std::make_unique<GemmCase>(gpu, shape);
}

} // namespace tessella::calib
