#include "sim/domain/pair_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tessella {
namespace {

constexpr std::array<std::string_view, 8> kPartNames = {"EMB", "ATTN", "DISP", "MLP", "COMB", "JOIN", "MTP", "HEAD"};
constexpr std::string_view kWgrad = "WGRAD_";

// "F_", "B_", and "F2_" for the second of two alike.
std::string prefix(std::uint8_t half, const PairPasses& passes) {
  const bool second_alike = half == 1 && passes[0] == passes[1];
  return fmt::format("{}{}_", letter(passes[half]), second_alike ? "2" : "");
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

std::string lane_text(const std::string& indent, const char* key, const std::vector<TaskId>& tasks,
                      const PairPasses& passes) {
  std::string text = fmt::format("{}{}: [", indent, key);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string name = to_text(tasks[i], passes);
    if (i > 0 && column + name.size() > 100) {
      text += fmt::format(",\n{}    ", indent);
      column = indent.size() + 4;
    } else if (i > 0) {
      text += ", ";
    }
    text += name;
    column += name.size() + 2;
  }
  return text + "]\n";
}

} // namespace

std::string to_text(const TaskId& task, const PairPasses& passes) {
  return fmt::format("{}{}{}.{}{}", prefix(task.half, passes), task.weight_gradient ? kWgrad : "",
                     kPartNames[static_cast<std::size_t>(task.part)], task.piece,
                     std::string(static_cast<std::size_t>(task.again), '\''));
}

std::optional<TaskId> parse_task(std::string_view text, const PairPasses& passes) {
  TaskId task;
  if (take(text, prefix(1, passes)))
    task.half = 1;
  else if (!take(text, prefix(0, passes)))
    return std::nullopt;
  task.weight_gradient = take(text, kWgrad);
  const auto part = std::find_if(kPartNames.begin(), kPartNames.end(), [&](std::string_view name) {
    return text.starts_with(name) && text.substr(name.size()).starts_with(".");
  });
  if (part == kPartNames.end()) return std::nullopt;
  task.part = static_cast<TaskPart>(part - kPartNames.begin());
  text.remove_prefix(part->size() + 1);
  while (text.ends_with('\'')) {
    text.remove_suffix(1);
    ++task.again;
  }
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), task.piece);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return task;
}

std::string to_text(const PairPlan& plan, const std::string& indent) {
  return fmt::format("{}passes: [{}, {}]\n", indent, letter(plan.passes[0]), letter(plan.passes[1])) +
         lane_text(indent, "compute", plan.compute, plan.passes) + lane_text(indent, "ep", plan.ep, plan.passes);
}

double PairResult::overlap_gain() const {
  return serial.ps == 0 ? 0.0 : 1.0 - post_overlap.seconds() / serial.seconds();
}

double PairResult::hidden_share() const {
  return ep_busy.ps == 0 ? 1.0 : ep_hidden.seconds() / ep_busy.seconds();
}

double PairResult::gap() const {
  return proven || lower_bound.ps == 0 ? 0.0 : post_overlap.seconds() / lower_bound.seconds() - 1.0;
}

} // namespace tessella
