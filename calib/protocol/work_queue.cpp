#include "calib/protocol/work_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <tuple>

#include "sim/base/error.h"

namespace tessella::calib {

std::vector<Job> order_by_information(std::vector<Job> jobs) {
  std::map<OpShape, double> share;
  for (const Job& job : jobs) share[job.shape] += job.step_seconds;
  jobs.clear();
  for (const auto& [shape, seconds] : share) jobs.push_back({shape, seconds});
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.step_seconds > b.step_seconds; });
  std::map<std::tuple<std::string, std::string, std::string>, int> dealt; // (op, kernel, dtype)
  std::vector<std::pair<int, Job>> rounds;
  for (const Job& job : jobs) rounds.emplace_back(dealt[{job.shape.op, job.shape.kernel, job.shape.dtype}]++, job);
  std::stable_sort(rounds.begin(), rounds.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  jobs.clear();
  for (auto& [round, job] : rounds) jobs.push_back(std::move(job));
  return jobs;
}

double parse_budget(const std::string& text) {
  double value = 0.0;
  const char* last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, value);
  const std::string unit(stop, last);
  const double scale = unit == "s" ? 1.0 : unit == "m" ? 60.0 : unit == "h" ? 3600.0 : 0.0;
  if (error != std::errc{} || scale == 0.0 || !(value > 0.0) || value * scale > 1e6)
    throw InputError("--budget", fmt::format("'{}' is not a time such as 90s, 10m or 1h", text));
  return value * scale;
}

} // namespace tessella::calib
