#include "sim/report/preset_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

// The fastest that fits.
const PresetRow* fastest(std::span<const PresetRow> rows) {
  const PresetRow* best = nullptr;
  for (const PresetRow& r : rows)
    if (!r.problem && r.fits() && (best == nullptr || r.step_time < best->step_time)) best = &r;
  return best;
}

std::string row_text(const PresetRow& r, const PresetRow* best) {
  if (r.problem) return fmt::format("  {:<22} cannot run: {}\n", r.name, printable(*r.problem));
  const double slower =
      best == nullptr ? 0.0 : static_cast<double>(r.step_time.ps) / static_cast<double>(best->step_time.ps) - 1.0;
  return fmt::format("{} {:<22}{:>10}{:>9}{:>6.1f}{:>8.1f}{:>9.1f}{:>7.1f}{:>11}{:>8}  {}\n", &r == best ? '*' : ' ',
                     r.name, format_duration(r.step_time),
                     &r == best || best == nullptr ? "" : fmt::format("{:+.1f} %", 100.0 * slower), 100.0 * r.mfu,
                     100.0 * r.bubble, 100.0 * r.exposed, 100.0 * r.exposed_ep,
                     format_gib(r.peak) + (r.fits() ? "" : " !"), fmt::format("{:.1f} %", 100.0 * r.gap()), r.schedule);
}

} // namespace

std::string preset_text(const std::string& experiment, std::span<const PresetRow> rows) {
  std::string text = fmt::format("{}: presets on the same GPUs, grid, batch and costs\n\n", printable(experiment));
  text += fmt::format("  {:<22}{:>10}{:>9}{:>6}{:>8}{:>9}{:>7}{:>11}{:>8}  {}\n", "preset", "step time", "slower",
                      "MFU", "bubble", "exposed", "of ep", "peak GiB", "gap", "schedule");
  const PresetRow* best = fastest(rows);
  bool does_not_fit = false;
  for (const PresetRow& r : rows) {
    text += row_text(r, best);
    does_not_fit = does_not_fit || (!r.problem && !r.fits());
  }
  text += "\nMFU, bubble, exposed communication and the experts' part of it in % of the step; gap: the step above the\n"
          "lower bound of all partitions under the preset's own schedule, without bubble filler\n";
  if (best != nullptr) text += "* fastest that fits\n";
  if (does_not_fit) text += fmt::format("! more than the GPU's {} GiB\n", format_gib(rows.front().capacity));
  return text;
}

std::string preset_json(const std::string& experiment, std::span<const PresetRow> rows) {
  Json presets = Json::array();
  for (const PresetRow& r : rows) {
    if (r.problem) {
      presets.push_back({{"preset", r.name}, {"problem", *r.problem}});
      continue;
    }
    presets.push_back({{"preset", r.name},
                       {"step_time_s", to_seconds(r.step_time)},
                       {"mfu", r.mfu},
                       {"bubble", r.bubble},
                       {"exposed", r.exposed},
                       {"exposed_ep", r.exposed_ep},
                       {"peak_bytes", r.peak.count},
                       {"fits", r.fits()},
                       {"lower_bound_s", to_seconds(r.lower_bound)},
                       {"gap", r.gap()},
                       {"schedule", r.schedule},
                       {"layout", r.layout}});
  }
  const PresetRow* best = fastest(rows);
  Json root = {{"experiment", experiment}, {"presets", std::move(presets)}};
  root["fastest"] = best == nullptr ? Json() : Json(best->name);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
