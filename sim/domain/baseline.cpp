#include "sim/domain/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessella {
namespace {

const Tolerance* tolerance_of(std::span<const Tolerance> tolerances, const std::string& full_name) {
  const Tolerance* found = nullptr;
  for (const Tolerance& t : tolerances)
    if (full_name == t.of || full_name.starts_with(t.of + ".")) found = &t;
  return found;
}

std::string allowed_text(const Tolerance* t) {
  if (!t) return "no tolerance given: exact";
  std::string out = "allowed";
  if (t->relative > 0.0) out += fmt::format(" {:.3g} %", 100.0 * t->relative);
  if (t->absolute > 0.0) out += fmt::format("{} {:.3g}", t->relative > 0.0 ? " plus" : "", t->absolute);
  if (t->relative == 0.0 && t->absolute == 0.0) out += " 0";
  return out + ": " + t->reason;
}

struct Sized {
  double size = 0.0; // of the move, relative
  Move move;
};

void compare_numbers(Artefact artefact, const NamedNumbers& expected, const NamedNumbers& now,
                     std::span<const Tolerance> tolerances, std::vector<Sized>& out) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, before] = expected[i];
    // Both sides usually hold the same names in the same order.
    const auto after = i < now.size() && now[i].first == name ? std::optional(now[i].second) : find_number(now, name);
    if (!after) {
      out.push_back(
          {std::numeric_limits<double>::infinity(), {artefact, name, fmt::format("{:.6g}", before), "(absent)", ""}});
      continue;
    }
    const Tolerance* t = tolerance_of(tolerances, fmt::format("{}.{}", tessella::name(artefact), name));
    const double moved = std::fabs(*after - before);
    if (moved <= (t ? t->relative * std::fabs(before) + t->absolute : 0.0)) continue;
    const double relative = before != 0.0 ? *after / before - 1.0 : std::numeric_limits<double>::infinity();
    const std::string size =
        std::isfinite(relative) ? fmt::format("{:+.2f} %", 100.0 * relative) : std::string("from nothing");
    out.push_back({std::fabs(relative),
                   {artefact, name, fmt::format("{:.6g}", before), fmt::format("{:.6g}", *after),
                    size + ", " + allowed_text(t)}});
  }
  for (const auto& [name, after] : now)
    if (!find_number(expected, name))
      out.push_back(
          {std::numeric_limits<double>::infinity(), {artefact, name, "(absent)", fmt::format("{:.6g}", after), ""}});
}

} // namespace

const char* name(Artefact artefact) {
  constexpr const char* names[] = {"imbalance", "bubbles", "fabric", "totals"};
  return names[static_cast<std::size_t>(artefact)];
}

Regression diff(const Snapshot& expected, const Snapshot& now, std::span<const Tolerance> tolerances) {
  Regression r;
  r.name = now.name;
  r.settings = changes(expected.settings, now.settings);
  r.inputs = changed_contents(expected.inputs, now.inputs);
  r.tool_before = expected.tool;
  r.tool_after = now.tool;
  for (int a = 0; a < kNumArtefacts; ++a) {
    const auto artefact = static_cast<Artefact>(a);
    for (const TextChange& c : changes(expected[artefact].texts, now[artefact].texts))
      r.moves.push_back({artefact, c.name, c.before, c.after, ""});
    std::vector<Sized> moved;
    compare_numbers(artefact, expected[artefact].numbers, now[artefact].numbers, tolerances, moved);
    std::stable_sort(moved.begin(), moved.end(), [](const Sized& x, const Sized& y) { return x.size > y.size; });
    for (Sized& m : moved) r.moves.push_back(std::move(m.move));
  }
  return r;
}

std::vector<std::string> causes(const Regression& r) {
  std::vector<std::string> out;
  for (const TextChange& c : r.settings) out.push_back(fmt::format("setting {}: {} -> {}", c.name, c.before, c.after));
  for (const TextChange& c : r.inputs)
    out.push_back(fmt::format("file {}: sha256 {} -> {}", c.name, c.before, c.after));
  if (r.tool_before != r.tool_after) out.push_back(fmt::format("tessella {} -> {}", r.tool_before, r.tool_after));
  if (out.empty()) out.push_back("no input differs: the program itself, at an equal version");
  return out;
}

} // namespace tessella
