#include "sim/report/pair_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/report/format.h"

namespace tessella {
namespace {

constexpr std::array<char, 8> kPartLetters = {'e', 'a', 'd', 'm', 'c', 'j', 't', 'h'};
constexpr std::int64_t kColumnsPerTask = 5; // on average, before blocks are split
constexpr std::string_view kLegend = "F forward, B backward, W weight gradient; e embedding, a attention, d dispatch,\n"
                                     "m experts, c combine, j join, t MTP block, h head; then the piece of its stage;\n"
                                     "'-' computes, '~' exchanges, '.' is idle\n";

// "Fa0"; small letters first for the second of two forwards or backwards.
std::string short_name(const TaskId& task, const PairPasses& passes) {
  char pass = task.weight_gradient ? 'W' : letter(passes[task.half]);
  if (task.half == 1 && passes[0] == passes[1])
    pass = static_cast<char>(std::tolower(static_cast<unsigned char>(pass)));
  return fmt::format("{}{}{}", pass, kPartLetters[static_cast<std::size_t>(task.part)], task.piece);
}

std::string lane_row(const PairResult& r, bool ep, std::int64_t columns) {
  std::string row(static_cast<std::size_t>(columns), '.');
  const double per_ps =
      static_cast<double>(columns) / static_cast<double>(std::max<std::int64_t>(1, r.post_overlap.ps));
  const auto column = [&](Time t) {
    return std::min(row.size(), static_cast<std::size_t>(static_cast<double>(t.ps) * per_ps + 0.5));
  };
  for (const TaskSpan& span : r.tasks) {
    if (span.on_ep_lane != ep) continue;
    const std::size_t begin = column(span.start);
    const std::size_t end = column(span.end);
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(begin), row.begin() + static_cast<std::ptrdiff_t>(end),
              ep ? '~' : '-');
    const std::string name = short_name(span.task, r.plan.passes);
    row.replace(begin, std::min(name.size(), end - begin), name, 0, std::min(name.size(), end - begin));
  }
  return row;
}

std::string lanes_text(const PairResult& r, int width) {
  const std::int64_t block = std::max(20, width - 8);
  const auto tasks = static_cast<std::int64_t>(r.plan.compute.size());
  const std::int64_t columns = (std::max(block, tasks * kColumnsPerTask) + block - 1) / block * block;
  std::string text = fmt::format("one column = {}\n", format_duration({r.post_overlap.ps / columns}));
  const std::string compute = lane_row(r, false, columns);
  const std::string ep = lane_row(r, true, columns);
  const auto size = static_cast<std::size_t>(block);
  for (std::size_t at = 0; at < compute.size(); at += size)
    text +=
        fmt::format("{}compute {}\nep      {}\n", at > 0 ? "\n" : "", compute.substr(at, size), ep.substr(at, size));
  return text;
}

std::string task_table(const PairResult& r) {
  std::string text = fmt::format("{:<18} {:<8} {:>12} {:>12} {:>12}\n", "task", "lane", "start", "end", "alone");
  for (const TaskSpan& t : r.tasks)
    text += fmt::format("{:<18} {:<8} {:>12} {:>12} {:>12}\n", to_text(t.task, r.plan.passes),
                        t.on_ep_lane ? "ep" : "compute", format_duration(t.start - Time{}),
                        format_duration(t.end - Time{}), format_duration(t.alone));
  return text;
}

} // namespace

std::string pair_text(const PairResult& r, std::string_view method, const PairTextOptions& options) {
  std::string text =
      fmt::format("pair {};{} by {}: {}, one after the other {}: overlap saves {}\n", letter(r.plan.passes[0]),
                  letter(r.plan.passes[1]), method, format_duration(r.post_overlap), format_duration(r.serial),
                  format_percent(r.overlap_gain()));
  if (r.ep_busy > Duration{})
    text += fmt::format("  exchanges     {}, {} of it beside compute\n", format_duration(r.ep_busy),
                        format_percent(r.hidden_share()));
  text += fmt::format("  lower bound   {}, {}\n", format_duration(r.lower_bound),
                      r.proven ? std::string("reached: no order is better")
                               : fmt::format("this order is at most {:.2f} % above the best", 100.0 * r.gap()));
  text += lanes_text(r, options.width);
  text += kLegend;
  if (options.tasks) text += task_table(r);
  return text + "\n";
}

} // namespace tessella
