#include "sim/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "sim/report/format.h"

namespace tessella {
namespace {

// What a column may show.
struct Activity {
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  char kind = '.';
  bool operator==(const Activity&) const = default;
};

// How long an activity held a column: on the compute lane, and on the lanes of its collectives.
struct Cover {
  Activity activity;
  std::int64_t compute_ps = 0;
  std::int64_t communication_ps = 0;
};
using Column = std::vector<Cover>; // in order of first appearance

constexpr std::string_view kDrawn = "FBIWDO";

// Column boundaries: the step cut into equal parts, exact in integers (the product needs 128 bits).
class Scale {
 public:
  Scale(std::int64_t span, std::int64_t columns) : span_(std::max<std::int64_t>(1, span)), columns_(columns) {}
  std::int64_t begin_of(std::int64_t column) const {
    return static_cast<std::int64_t>(static_cast<Wide>(span_) * column / columns_);
  }
  std::int64_t column_of(std::int64_t ps) const {
    const auto column = static_cast<std::int64_t>(static_cast<Wide>(ps) * columns_ / span_);
    return std::clamp<std::int64_t>(column, 0, columns_ - 1);
  }
  std::int64_t columns() const { return columns_; }

 private:
  __extension__ using Wide = __int128;
  std::int64_t span_;
  std::int64_t columns_;
};

void add(std::vector<Column>& columns, const Scale& scale, const TraceEvent& e, bool computes) {
  const Activity what{e.stage, e.micro_batch, e.kind};
  for (std::int64_t i = scale.column_of(e.begin.ps); i <= scale.column_of(e.end.ps); ++i) {
    const std::int64_t covered = std::min(e.end.ps, scale.begin_of(i + 1)) - std::max(e.begin.ps, scale.begin_of(i));
    if (covered <= 0) continue;
    Column& column = columns[static_cast<std::size_t>(i)];
    auto it = std::find_if(column.begin(), column.end(), [&](const Cover& c) { return c.activity == what; });
    if (it == column.end()) it = column.insert(it, {what});
    (computes ? it->compute_ps : it->communication_ps) += covered;
  }
}

struct Cell {
  Activity activity;
  bool computes = true;
};

// What took longest in a column; communication counts only for the time that no compute covers.
Cell longest(const Column& column, std::int64_t width_ps) {
  std::int64_t left = width_ps;
  for (const Cover& c : column) left -= c.compute_ps;
  std::int64_t idle = left;
  for (const Cover& c : column) idle -= c.communication_ps;
  Cell best;
  std::int64_t best_ps = std::max<std::int64_t>(0, idle);
  const auto offer = [&](const Activity& activity, bool computes, std::int64_t ps) {
    if (ps < best_ps || ps == 0 || (ps == best_ps && best.activity.kind != '.')) return;
    best = {activity, computes};
    best_ps = ps;
  };
  for (const Cover& c : column) offer(c.activity, true, c.compute_ps);
  for (const Cover& c : column) offer(c.activity, false, std::min(c.communication_ps, left));
  return best;
}

std::string draw(const std::vector<Column>& columns, const Scale& scale) {
  std::string row;
  Activity previous;
  int length = 0; // of the run of columns that show the same activity
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const Cell now = longest(columns[i], scale.begin_of(at + 1) - scale.begin_of(at));
    length = i > 0 && now.activity == previous ? length + 1 : 1;
    previous = now.activity;
    if (now.activity.kind == '.' || length == 1)
      row += now.activity.kind;
    else if (length == 2)
      row += static_cast<char>('0' + now.activity.micro_batch % 10);
    else
      row += now.computes ? '-' : '~';
  }
  return row;
}

} // namespace

std::string timeline_text(const RunResult& r, const TimelineOptions& options) {
  const std::int32_t compute = lane_index(r, "compute");
  std::map<std::int32_t, std::vector<const TraceEvent*>> ranks;
  for (const TraceEvent& e : r.events)
    if (e.step == options.step && kDrawn.find(e.kind) != std::string_view::npos) ranks[e.rank].push_back(&e);
  const std::int64_t counted = options.step - r.warm_up;
  if (ranks.empty() || counted < 0 || counted >= std::ssize(r.step_times))
    return fmt::format("step {}: no rank was recorded\n", options.step);

  const std::size_t label = fmt::format("{}", ranks.rbegin()->first).size();
  const int margin = static_cast<int>(label) + 6; // "rank N "
  const Duration step_time = r.step_times[static_cast<std::size_t>(counted)];
  const Scale scale(step_time.ps, std::max(10, options.width - margin));
  std::string out = fmt::format("step {}: {}, one column = {}\n", options.step, format_duration(step_time),
                                format_duration({scale.begin_of(1)}));
  for (const auto& [rank, events] : ranks) {
    std::vector<Column> columns(static_cast<std::size_t>(scale.columns()));
    for (const TraceEvent* e : events) add(columns, scale, *e, e->lane == compute);
    out += fmt::format("rank {:>{}} {}\n", rank, label, draw(columns, scale));
  }
  return out + "F forward, B backward, I input gradient, W weight gradient, D data-parallel,\n"
               "O optimizer; then the micro-batch modulo 10; '-' computes, '~' communicates,\n"
               "'.' is idle\n";
}

} // namespace tessella
