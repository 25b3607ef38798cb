#include "sim/report/comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/units.h"
#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

Duration duration(double seconds) {
  return {static_cast<std::int64_t>(std::llround(seconds * 1e12))};
}

std::string signed_percent(double fraction) {
  return fmt::format("{:+.1f} %", 100.0 * fraction);
}

std::string text_changes(const char* title, const std::vector<TextChange>& list) {
  if (list.empty()) return "";
  std::string out = fmt::format("\n{}\n", title);
  for (const TextChange& c : list)
    out += fmt::format("  {:<50} {} -> {}\n", printable(c.name), printable(c.before), printable(c.after));
  return out;
}

const char* meaning(const Comparison& c) {
  switch (c.significance) {
  case Significance::tie:
    return "a tie: closer than neighbouring measurements are";
  case Significance::within:
    return "within the interval: the steps of the two overlap";
  case Significance::beyond:
    return c.has_interval ? "beyond the interval: no step of one is as long as those of the other"
                          : "beyond the tie band; no interval, a single step each (simulation.steps)";
  }
  return "";
}

const char* word(Significance s) {
  return s == Significance::tie ? "tie" : s == Significance::within ? "within" : "beyond";
}

Json json(const std::vector<TextChange>& list) {
  Json out = Json::array();
  for (const TextChange& c : list) out.push_back({{"name", c.name}, {"before", c.before}, {"after", c.after}});
  return out;
}

Json json(const std::vector<NumberChange>& list) {
  Json out = Json::array();
  for (const NumberChange& c : list)
    out.push_back({{"name", c.name}, {"before", c.before}, {"after", c.after}, {"by", c.after - c.before}});
  return out;
}

std::string other_text(const NumberChange& c) {
  if (c.name == "memory.peak_bytes")
    return fmt::format("  {:<22} {:>12.2f} {:>12.2f} {:>+12.2f}  GiB\n", "peak memory", c.before / 1073741824.0,
                       c.after / 1073741824.0, (c.after - c.before) / 1073741824.0);
  return fmt::format("  {:<22} {:>12.4g} {:>12.4g} {:>+12.4g}\n", c.name, c.before, c.after, c.after - c.before);
}

} // namespace

std::string comparison_text(const Comparison& c) {
  std::string out = fmt::format("A: {}\nB: {}\n", printable(c.before), printable(c.after));
  out += fmt::format("step time {} -> {} ({}): {}\n", format_duration(duration(c.step_time.before)),
                     format_duration(duration(c.step_time.after)), signed_percent(c.relative), meaning(c));
  out += text_changes("inputs that differ", c.settings);
  out += text_changes("files that differ", c.inputs);
  if (c.settings.empty() && c.inputs.empty()) out += "\nno input differs\n";
  if (!c.ledger.empty())
    out += fmt::format("\n  {:<22} {:>12} {:>12} {:>12}\n", "where the time moved", "A", "B", "B - A");
  for (const NumberChange& share : c.ledger)
    out += fmt::format("  {:<22} {:>12} {:>12} {:>12}\n", share.name, format_duration(duration(share.before)),
                       format_duration(duration(share.after)), format_duration(duration(share.after - share.before)));
  if (!c.others.empty()) out += "\n";
  for (const NumberChange& other : c.others) out += other_text(other);
  return out;
}

std::string comparison_json(const Comparison& c) {
  const Json root = {
      {"before", c.before},
      {"after", c.after},
      {"step_time_s", {{"before", c.step_time.before}, {"after", c.step_time.after}}},
      {"relative", c.relative},
      {"significance", word(c.significance)},
      {"has_interval", c.has_interval},
      {"settings", json(c.settings)},
      {"inputs", json(c.inputs)},
      {"ledger", json(c.ledger)},
      {"others", json(c.others)},
  };
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
