#include "sim/store/result_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/domain/sweep.h"

namespace tessella {
namespace {

double seconds(Duration d) {
  return static_cast<double>(d.ps) / 1e12; // one division, so that 5926400000000 ps reads 5.9264
}

const std::string& text_column(const ResultRow& row, std::size_t column) {
  const std::string* const texts[] = {&row.key,       &row.sweep,  &row.experiment, &row.tool,
                                      &row.overrides, &row.status, &row.reason};
  return *texts[column];
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

std::vector<std::string> overridden_paths(const std::vector<ResultRow>& rows) {
  std::vector<std::string> paths;
  for (const ResultRow& row : rows)
    for (const std::string& text : overrides_of(row))
      if (std::find(paths.begin(), paths.end(), path_of(text)) == paths.end()) paths.push_back(path_of(text));
  return paths;
}

std::string last_value(const std::vector<std::string>& overrides, const std::string& path) {
  std::string value;
  for (const std::string& text : overrides)
    if (path_of(text) == path) value = value_of(text);
  return value;
}

} // namespace

void fill(ResultRow& row, const Scenario& s, const RunResult& r) {
  std::size_t next = 0;
  const auto put = [&](double value) { row.numbers[next++] = value; };
  put(seconds(r.step_time));
  put(seconds(r.step_time_p05));
  put(seconds(r.step_time_p95));
  put(r.tokens_per_s_per_gpu);
  put(r.tflops_per_gpu);
  put(r.mfu);
  put(r.hfu);
  put(static_cast<double>(s.parallelism.world_size));
  const auto total = static_cast<double>(r.ledger_sum.total().ps);
  for (int share = 0; share < kNumShares; ++share)
    put(total > 0.0 ? static_cast<double>(r.ledger_sum[static_cast<Share>(share)].ps) / total : 0.0);
  put(r.ep_hidden_fraction);
  put(r.stage_imbalance);
  put(r.load_imbalance_mean);
  put(static_cast<double>(r.memory.ranks[static_cast<std::size_t>(r.memory.peak_rank)].peak().count));
  put(static_cast<double>(r.memory.capacity.count));
  TSL_CHECK_OP(next + 1, ==, kResultNumbers.size());
  if (r.memory.smallest_world) put(static_cast<double>(*r.memory.smallest_world));
  row.status = r.memory.fits ? "ok" : "does_not_fit";
  row.reason = r.memory.fits ? "" : verdict(r.memory);
}

std::vector<std::string> overrides_of(const ResultRow& row) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < row.overrides.size();) {
    const std::size_t end = std::min(row.overrides.find('\n', begin), row.overrides.size());
    out.push_back(row.overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

ExprValue lookup(const ResultRow& row, const std::string& name) {
  for (std::size_t i = 0; i < kResultNumbers.size(); ++i)
    if (kResultNumbers[i] == name) return row.numbers[i] ? ExprValue{*row.numbers[i]} : ExprValue{};
  for (std::size_t i = 0; i < kResultTexts.size(); ++i)
    if (kResultTexts[i] == name) return text_column(row, i);
  return lookup_override(overrides_of(row), name);
}

std::string to_csv(const std::vector<ResultRow>& rows) {
  const std::vector<std::string> paths = overridden_paths(rows);
  std::string out = "key,status,reason";
  for (const std::string& path : paths) out += fmt::format(",{}", csv_cell(path));
  for (const std::string_view name : kResultNumbers) out += fmt::format(",{}", name);
  out += "\n";
  for (const ResultRow& row : rows) {
    const std::vector<std::string> overrides = overrides_of(row);
    out += fmt::format("{},{},{}", row.key, row.status, csv_cell(row.reason));
    for (const std::string& path : paths) out += fmt::format(",{}", csv_cell(last_value(overrides, path)));
    for (const auto& number : row.numbers) out += number ? fmt::format(",{}", *number) : ",";
    out += "\n";
  }
  return out;
}

} // namespace tessella
