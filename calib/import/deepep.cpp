#include "calib/import/deepep.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct Times {
  double data_us = 0.0;
  double notify_us = 0.0;
};

bool read_times(std::string_view line, Times& t) {
  if (number_after(line, "transmit:", t.data_us)) {
    number_after(line, "notify:", t.notify_us);
    return true;
  }
  // "45 + 678 us": the notification, then the data.
  if (number_before(line, " + ", t.notify_us)) return number_after(line, " + ", t.data_us);
  return number_after(line, " t:", t.data_us) || number_before(line, " us", t.data_us);
}

std::string bandwidths(std::string_view line) {
  std::string text;
  double value = 0.0;
  if (number_before(line, "GB/s (RDMA)", value)) text += fmt::format("{} GB/s RDMA ", value);
  if (number_before(line, "GB/s (NVL)", value)) text += fmt::format("{} GB/s NVLink ", value);
  return text;
}

} // namespace

Imported import_deepep(const std::string& name, const std::string& text, const DeepEpSetting& s) {
  Imported out;
  for (const std::string_view line : lines_of(text)) {
    const bool dispatch = line.find("Best dispatch") != std::string_view::npos;
    if (!dispatch && line.find("Best combine") == std::string_view::npos) {
      if (line.find("[tuning]") != std::string_view::npos) ++out.dropped["tuning lines that were not the best"];
      continue;
    }
    Times t;
    double sms = 0.0;
    number_after(line, "SMs", sms);
    if (!read_times(line, t) || !(t.data_us > 0.0)) {
      ++out.dropped["lines with a bandwidth but no time"];
      continue;
    }
    RawRow row;
    row.shape.op = dispatch ? "dispatch_deepep" : "combine_deepep";
    row.shape.kernel = "deepep";
    row.shape.dtype = dispatch && line.find("(FP8)") != std::string_view::npos ? "fp8" : "bf16";
    row.shape.dims = {
        {"sms", static_cast<std::int64_t>(sms)}, {"tokens", s.tokens}, {"hidden", s.hidden}, {"topk", s.topk}};
    row.shape.ranks = s.ranks;
    row.measurement.temperature = Temperature::hot;
    row.measurement.summary.median = t.data_us * 1e-6;
    row.measurement.summary.n = 1;
    row.note = fmt::format("{}notify {} us", bandwidths(line), t.notify_us);
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty() && out.dropped.empty())
    throw InputError(name, "has no line '[tuning] Best dispatch' or '[tuning] Best combine'");
  return out;
}

} // namespace tessella::calib
