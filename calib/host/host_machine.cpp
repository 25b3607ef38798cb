// The host as a Machine: kernels on all ranks at once, collectives between threads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "calib/device/machine.h"
#include "calib/host/cases.h"
#include "calib/host/crew.h"
#include "calib/host/host_clock.h"
#include "calib/host/measure_ranks.h"

namespace tessella::calib {
namespace {

constexpr std::array kCollectives = {"all_to_all", "all_gather", "reduce_scatter", "all_reduce", "send_recv"};

bool is_collective(const OpShape& shape) {
  return std::find(kCollectives.begin(), kCollectives.end(), shape.op) != kCollectives.end();
}

class HostMachine : public Machine {
 public:
  explicit HostMachine(int ranks) : ranks_(ranks) {}

  DeviceIdentity identity() const override { return {"host", cpu_name(), "", "", ""}; }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"cores", std::to_string(usable_cpus().size())},
            {"ranks", std::to_string(ranks_)},
            {"cache of a core", fmt::format("{} KiB", private_cache() >> 10)},
            {"arithmetic", "fp32, whatever the dtype asked for; bytes are counted as bf16"}};
  }

  bool can_measure(const OpShape& shape, std::string& why_not) const override {
    if (is_collective(shape)) {
      why_not = fmt::format("needs {} ranks, there are {}", shape.ranks, ranks_);
      if (shape.ranks > ranks_) return false;
      why_not = "the host measures even parts only";
      return shape.dim("skew") == 0;
    }
    return host_can(shape, why_not);
  }

  std::vector<RawRow> measure(const OpShape& shape, const MeasureOptions& options) override {
    if (is_collective(shape)) return {measure_collective(shape, options)};
    return measure_on_ranks(shape, ranks_, options, {Temperature::cold, Temperature::hot});
  }

 private:
  int ranks_;
};

} // namespace

std::unique_ptr<Machine> host_machine(int ranks) {
  return std::make_unique<HostMachine>(ranks);
}

} // namespace tessella::calib
