#include "sim/domain/pair_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "sim/base/error.h"
#include "sim/base/nearest.h"

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

std::string lane_text(const char* key, const std::vector<TaskId>& tasks, const PairPasses& passes) {
  std::string text = fmt::format("{}: [", key);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string name = to_text(tasks[i], passes);
    if (i > 0 && column + name.size() > 100) {
      text += ",\n    ";
      column = 4;
    } else if (i > 0) {
      text += ", ";
    }
    text += name;
    column += name.size() + 2;
  }
  return text + "]\n";
}

// The words of the text with their places. Brackets, commas and dashes only separate.
struct Word {
  std::string_view text;
  SourceSpan where;
};

std::vector<Word> words_of(std::string_view text, const std::string& file) {
  constexpr std::string_view separators = " \t\r,[]";
  std::vector<Word> words;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string_view content = whole.substr(0, std::min(whole.find('#'), whole.size()));
    for (std::size_t at = content.find_first_not_of(separators); at != std::string_view::npos;) {
      const std::size_t stop = std::min(content.find_first_of(separators, at), content.size());
      const std::string_view word = content.substr(at, stop - at);
      const int length = static_cast<int>(word.size());
      if (word != "-") words.push_back({word, {file, line, static_cast<int>(at) + 1, length, std::string(whole)}});
      at = content.find_first_not_of(separators, stop);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<Word> list_of(const std::map<std::string, std::vector<Word>>& lists, const char* key,
                          const std::string& file) {
  const auto found = lists.find(key);
  if (found == lists.end())
    throw InputError(SourceSpan{file, 0, 0, 0, {}}, fmt::format("a pair's order needs the key '{}'", key));
  return found->second;
}

PairPasses passes_of(const std::vector<Word>& words, const std::string& file) {
  PairPasses passes{ActionKind::F, ActionKind::B};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 2 || (words[i].text != "F" && words[i].text != "B"))
      throw InputError(words[i].where, "passes are two of F and B, such as [F, B]");
    passes[i] = words[i].text == "F" ? ActionKind::F : ActionKind::B;
  }
  if (words.size() != 2) throw InputError(SourceSpan{file, 0, 0, 0, {}}, "passes are two of F and B, such as [F, B]");
  return passes;
}

std::vector<TaskId> tasks_of(const std::vector<Word>& words, const PairPasses& passes) {
  std::vector<TaskId> tasks;
  for (const Word& word : words) {
    const auto task = parse_task(word.text, passes);
    if (!task)
      throw InputError(word.where, fmt::format("'{}' is not the name of a task, such as {}ATTN.0 or {}DISP.0",
                                               word.text, prefix(0, passes), prefix(1, passes)));
    tasks.push_back(*task);
  }
  return tasks;
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

std::string to_text(const PairPlan& plan) {
  return fmt::format("passes: [{}, {}]\n", letter(plan.passes[0]), letter(plan.passes[1])) +
         lane_text("compute", plan.compute, plan.passes) + lane_text("ep", plan.ep, plan.passes);
}

PairPlan parse_pair_plan(std::string_view text, const std::string& file) {
  const std::vector<std::string> keys = {"passes", "compute", "ep"};
  std::map<std::string, std::vector<Word>> lists;
  std::vector<Word>* list = nullptr;
  for (const Word& word : words_of(text, file)) {
    if (!word.text.ends_with(':')) {
      if (list == nullptr) throw InputError(word.where, "expected one of the keys passes, compute and ep");
      list->push_back(word);
      continue;
    }
    const std::string key(word.text.substr(0, word.text.size() - 1));
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw InputError(word.where, fmt::format("unknown key '{}'{}", key, did_you_mean(key, keys)));
    if (lists.count(key) > 0) throw InputError(word.where, fmt::format("key '{}' occurs twice", key));
    list = &lists[key];
  }
  PairPlan plan;
  plan.passes = passes_of(list_of(lists, "passes", file), file);
  plan.compute = tasks_of(list_of(lists, "compute", file), plan.passes);
  plan.ep = tasks_of(list_of(lists, "ep", file), plan.passes);
  return plan;
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
