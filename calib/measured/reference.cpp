#include "calib/measured/reference.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "calib/fit/csv.h"
#include "calib/protocol/statistics.h"

namespace tessella::calib {

std::vector<ReferenceRow> read_reference(const std::string& path) {
  const Table t = Table::read(path);
  std::vector<ReferenceRow> rows;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    ReferenceRow r;
    r.shape.op = t.text(i, "op");
    r.shape.dtype = t.text(i, "dtype");
    try {
      r.shape.dims = parse_dims(t.text(i, "dims"));
    } catch (const std::invalid_argument& error) {
      t.fail(i, "dims", error.what());
    }
    r.seconds = t.positive(i, "seconds");
    r.source = t.text(i, "source");
    rows.push_back(std::move(r));
  }
  return rows;
}

ReferenceResult compare_reference(const std::vector<ReferenceRow>& published, const std::vector<RawRow>& rows) {
  std::map<OpShape, double> ours;
  for (const RawRow& row : rows)
    if (row.status == RowStatus::ok && row.measurement.temperature == Temperature::cold)
      ours[row.shape] = row.measurement.summary.median;
  ReferenceResult result;
  std::vector<double> errors;
  for (const ReferenceRow& p : published) {
    const auto it = ours.find(p.shape);
    if (it == ours.end()) {
      result.missing.push_back(p.shape.text());
      continue;
    }
    result.points.push_back({p, it->second});
    errors.push_back(std::abs(it->second / p.seconds - 1.0));
  }
  result.median_abs = median(errors);
  return result;
}

std::string to_text(const ReferenceResult& result) {
  std::string text = fmt::format("{:<44} {:>12} {:>12} {:>8}\n", "kernel", "published", "measured", "differs");
  for (const ReferencePoint& p : result.points)
    text += fmt::format("{:<44} {:>9.1f} us {:>9.1f} us {:>+6.1f} %\n", p.published.shape.text(),
                        1e6 * p.published.seconds, 1e6 * p.measured, 100.0 * (p.measured / p.published.seconds - 1.0));
  for (const std::string& m : result.missing) text += fmt::format("{:<44} not measured\n", m);
  return text +
         fmt::format("median difference {:.1f} % over {} kernels\n", 100.0 * result.median_abs, result.points.size());
}

} // namespace tessella::calib
