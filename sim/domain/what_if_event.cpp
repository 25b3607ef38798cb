#include "sim/domain/what_if_event.h"

#include <fmt/format.h>

namespace tessella {
namespace {

struct Describe {
  std::string operator()(const SlowGpu& e) const { return fmt::format("slow_gpu rank {} x{:.3g}", e.rank, e.factor); }
  std::string operator()(const SlowNic& e) const { return fmt::format("slow_nic rank {} x{:.3g}", e.rank, e.factor); }
  std::string operator()(const SlowLink& e) const { return fmt::format("slow_link rank {} x{:.3g}", e.rank, e.factor); }
  std::string operator()(const FailedRail& e) const { return fmt::format("failed_rail {}", e.rail); }
  std::string operator()(const MoreJitter& e) const {
    return fmt::format("jitter kernel {:.3g} fabric {:.3g}", e.kernel, e.fabric);
  }
  std::string operator()(const MoveLayers& e) const { return "move_layers " + e.layout; }
  std::string operator()(const DenseCircuit& e) const {
    return fmt::format("dense_circuit {:.4g} GB/s", e.bandwidth.bytes_per_second * 1e-9);
  }
  std::string operator()(const WorkStealing&) const { return "work_stealing"; }
};

} // namespace

std::string describe(const WhatIf& what) {
  return std::visit(Describe{}, what);
}

} // namespace tessella
