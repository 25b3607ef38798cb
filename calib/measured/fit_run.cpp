#include "calib/measured/fit_run.h"

#include <fmt/format.h>

#include "calib/host/host_profile.h"
#include "calib/measured/row_problem.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct DriverName {
  const char* part; // of the driver's name
  const char* gpu;
};

// The PCIe cards of the same name have other clocks and memory.
constexpr DriverName kNames[] = {
    {"H100 80GB HBM3", "h100_sxm"}, {"H200", "h200_sxm"}, {"H800", "h800_sxm"}, {"A100-SXM4-80GB", "a100_sxm"}};

std::string mark_of(const RunRecord& record) {
  std::string mark;
  for (const std::string& other : record.mixed_with)
    mark += fmt::format("{}{}", mark.empty() ? "; MIXED with rows of " : ", ", other);
  return mark;
}

RunFit fit_on_host(const RunRecord& record, const std::vector<RawRow>& rows, const std::string& name) {
  const HostFit host = fit_host(rows, name, record.device.gpu);
  RunFit fit;
  fit.profile = host.profile;
  for (ProfileEntry& e : fit.profile.entries) {
    e.source += mark_of(record);
    std::vector<const RawRow*> used;
    for (const RawRow& row : rows) {
      const bool cold = row.measurement.temperature == Temperature::cold || row.shape.ranks > 1;
      if (row.shape.op == e.op && row.status == RowStatus::ok && cold) used.push_back(&row);
    }
    fit.results.push_back(evaluate(row_problem(used, e, host.link)));
  }
  for (const RawRow& row : rows)
    if (row.status != RowStatus::ok) count_dropped(fit.dropped, row.shape.op, calib::name(row.status));
  return fit;
}

std::string provenance_text(const RunRecord& record) {
  const DeviceIdentity& d = record.device;
  std::string text = fmt::format("; measured {} on {}", record.date.substr(0, 10), d.gpu);
  for (const auto& [what, version] : {std::pair("driver for CUDA", d.driver), {"CUDA", d.cuda}, {"NCCL", d.nccl}})
    if (!version.empty()) text += fmt::format(", {} {}", what, version);
  return text + mark_of(record);
}

} // namespace

std::string profile_gpu(const std::string& driver_name) {
  if (driver_name.find("PCIe") != std::string::npos || driver_name.find("NVL") != std::string::npos) return "";
  for (const DriverName& n : kNames)
    if (driver_name.find(n.part) != std::string::npos) return n.gpu;
  return "";
}

RunFit fit_run(const RunRecord& record, const std::vector<RawRow>& rows, const std::string& name, const Profile* base,
               bool force) {
  if (record.device.backend == "host") return fit_on_host(record, rows, name);
  if (base == nullptr)
    throw InputError("--base", fmt::format("a run on {} needs a profile to start from and for what one machine cannot "
                                           "measure, such as h200_sxm/2026-11-29-published",
                                           record.device.gpu));
  const std::string gpu = profile_gpu(record.device.gpu);
  std::string mark = provenance_text(record);
  if (gpu != base->gpu.name) {
    if (!force)
      throw InputError("--base", fmt::format("{} is a profile of {}, the run was on {}; --force uses it all the same, "
                                             "and marks every entry",
                                             base->name, base->gpu.name, record.device.gpu));
    mark += fmt::format("; MIXED with the profile of {}", base->gpu.name);
  }
  RunFit fit = fit_gpu_rows(rows, *base, mark);
  fit.profile.name = name;
  if (gpu != base->gpu.name) fit.profile.gpu.source += mark;
  return fit;
}

} // namespace tessella::calib
