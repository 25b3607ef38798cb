#include "sim/domain/comparison.h"

#include <algorithm>
#include <cmath>

namespace tessella {
namespace {

constexpr double kNoise = 1e-4; // of the step time: what a reader does not want to see

double number(const FlatResult& r, const std::string& name) {
  return find_number(r.numbers, name).value_or(0.0);
}

std::vector<NumberChange> moved_shares(const FlatResult& a, const FlatResult& b, double step_a, double step_b) {
  std::vector<NumberChange> out;
  for (const auto& [name, fraction] : a.numbers) {
    if (!name.starts_with("ledger.")) continue;
    const NumberChange change{name.substr(7), fraction * step_a, number(b, name) * step_b};
    if (std::fabs(change.after - change.before) >= kNoise * std::max(step_a, step_b)) out.push_back(change);
  }
  std::stable_sort(out.begin(), out.end(), [](const NumberChange& x, const NumberChange& y) {
    return std::fabs(x.after - x.before) > std::fabs(y.after - y.before);
  });
  return out;
}

Significance judge(const FlatResult& a, const FlatResult& b, double relative, double tie) {
  if (std::fabs(relative) <= tie) return Significance::tie;
  const bool overlap = number(a, "step_time_p05_s") <= number(b, "step_time_p95_s") &&
                       number(b, "step_time_p05_s") <= number(a, "step_time_p95_s");
  return overlap ? Significance::within : Significance::beyond;
}

bool spread(const FlatResult& r) {
  return number(r, "step_time_p05_s") < number(r, "step_time_p95_s");
}

} // namespace

Comparison compare(const FlatResult& a, const FlatResult& b, double tie) {
  Comparison c;
  c.before = a.name;
  c.after = b.name;
  c.settings = changes(a.settings, b.settings);
  c.inputs = changed_contents(a.inputs, b.inputs);
  c.step_time = {"step_time_s", number(a, "step_time_s"), number(b, "step_time_s")};
  c.relative = c.step_time.before > 0.0 ? c.step_time.after / c.step_time.before - 1.0 : 0.0;
  c.has_interval = spread(a) || spread(b);
  c.significance = judge(a, b, c.relative, tie);
  c.ledger = moved_shares(a, b, c.step_time.before, c.step_time.after);
  for (const char* name :
       {"tokens_per_s_per_gpu", "tflops_per_gpu", "mfu", "ep_hidden_fraction", "stage_imbalance", "memory.peak_bytes"})
    if (number(a, name) != number(b, name)) c.others.push_back({name, number(a, name), number(b, name)});
  return c;
}

} // namespace tessella
