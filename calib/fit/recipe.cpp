#include "calib/fit/recipe.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.h"

namespace tessella::calib {

void Report::drop(const std::string& op, const std::string& why, std::int64_t rows) {
  if (rows > 0) dropped_.push_back({op, why, rows});
}

const FitResult& Report::find(const std::string& op, const std::string& dtype) const {
  for (const FitResult& r : results_) {
    if (r.entry.op == op && r.entry.dtype == dtype) return r;
  }
  throw NotCovered({fmt::format("{} {}, of which the tables hold too few rows; other costs build on it", op, dtype)});
}

const ProfileEntry& Report::entry(const std::string& op, const std::string& dtype) const {
  return find(op, dtype).entry;
}

double Report::param(const std::string& op, const std::string& dtype, const std::string& key) const {
  return required_param(find(op, dtype).entry, key);
}

double Report::measured_param(const std::string& op, const std::string& dtype, const std::string& key) const {
  return required_param(find(op, dtype).measured, key);
}

std::vector<ProfileEntry> Report::entries() const {
  std::vector<ProfileEntry> entries;
  for (const FitResult& r : results_) {
    ProfileEntry e = r.entry;
    const std::string& note = e.tier.empty() ? gpu_.compute_note : gpu_.nccl_note;
    if (!note.empty() && !r.own_gpu && e.provenance == Provenance::published) {
      e.provenance = Provenance::derived;
      e.source += "; " + note;
    }
    entries.push_back(std::move(e));
  }
  return entries;
}

void Unique::check(const Table& table, std::size_t row, const std::string& shape) {
  if (!seen_.insert(shape).second) table.fail(row, "shape", fmt::format("{} is in the table twice", shape));
}

void check_rate(const Table& table, std::size_t row, const std::string& column, double rate, double limit,
                const std::string& what) {
  if (rate > limit) {
    table.fail(row, column,
               fmt::format("{:.4g} {} is above the hardware's {:.4g}; is the unit right?", rate, what, limit));
  }
}

std::string bucket(double x) {
  if (x < 1.0) return "0";
  const double low = std::exp2(std::floor(std::log2(x)));
  return fmt::format("{:.0f}-{:.0f}", low, 2.0 * low - 1.0);
}

} // namespace tessella::calib
