// A kernel beside communication: the same kernels as alone, while a stand-in holds SMs and streams through memory.
// Dimensions sms and gbps say how much; sms = 0 is the kernel alone, for comparison in the same table.
#include <optional>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/stand_in.h"

namespace tessella::calib {
namespace {

class OverlapCase : public OpCase {
 public:
  OverlapCase(const GpuContext& gpu, std::unique_ptr<OpCase> alone, int sms, double gbps)
      : gpu_(gpu), alone_(std::move(alone)), sms_(sms), gbps_(gbps) {}

  Work work() const override { return alone_->work(); }
  void prepare(std::size_t sets) override {
    neighbour_.reset();
    alone_->prepare(sets);
  }
  void launch(std::size_t set) override { alone_->launch(set); }
  double tolerance(const OpShape& shape) const override { return alone_->tolerance(shape); }
  // The neighbour starts only after the check: allocating memory would wait for it.
  double verify() override {
    const double error = alone_->verify();
    if (sms_ > 0) neighbour_.emplace(gpu_, sms_, gbps_);
    return error;
  }

 private:
  const GpuContext& gpu_;
  std::unique_ptr<OpCase> alone_;
  int sms_;
  double gbps_;
  std::optional<StandIn> neighbour_; // ends before `alone_` frees its memory
};

} // namespace

std::unique_ptr<OpCase> overlap_case(const GpuContext& gpu, const OpShape& shape) {
  OpShape alone = shape;
  alone.op = shape.kernel;
  alone.kernel = shape.kernel == "copy" ? "add" : "";
  const auto sms = static_cast<int>(shape.dim("sms"));
  if (sms >= gpu.sms()) throw std::invalid_argument("overlap: the neighbour would hold every SM");
  return std::make_unique<OverlapCase>(gpu, gpu_case(gpu, alone), sms, static_cast<double>(shape.dim("gbps")));
}

} // namespace tessella::calib
