#include "sim/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/report/format.h"
#include "sim/report/gzip_file.h"

namespace tessella {
namespace {

// A JSON string literal, quotes included.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(std::int64_t ps) {
  TSL_CHECK_OP(ps, >=, 0);
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

// Begin of each step on the common time axis.
std::vector<std::int64_t> step_origins(const RunResult& r) {
  std::vector<std::int64_t> origins;
  std::int64_t at = 0;
  for (const Duration step : r.step_times) {
    origins.push_back(at);
    at += step.ps;
  }
  return origins;
}

// Positions in r.events, earliest first and at most `limit`.
std::vector<std::size_t> kept_events(const RunResult& r, std::size_t limit) {
  std::vector<std::size_t> order(r.events.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) {
    const TraceEvent& e = r.events[i];
    return std::tuple(e.step, e.begin, e.rank, e.lane, i);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  order.resize(std::min(order.size(), limit));
  return order;
}

class Writer {
 public:
  Writer(const Scenario& s, const RunResult& r, const TraceSink& sink)
      : parallelism_(s.parallelism), result_(r), sink_(sink), origins_(step_origins(r)) {}

  void begin() { sink_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["); }
  void end() { sink_("\n]}\n"); }

  void process(std::int32_t rank) {
    metadata(rank, 0, "process_name", fmt::format("\"name\":{}", quoted(rank_name(parallelism_, rank))));
    metadata(rank, 0, "process_sort_index", fmt::format("\"sort_index\":{}", rank));
  }
  void thread(std::int32_t rank, std::int32_t lane) {
    const auto at = static_cast<std::size_t>(lane);
    TSL_CHECK_OP(at, <=, result_.lanes.size());
    const std::string name = lane == message_lane() ? "p2p" : result_.lanes[at];
    metadata(rank, lane, "thread_name", fmt::format("\"name\":{}", quoted(name)));
    metadata(rank, lane, "thread_sort_index", fmt::format("\"sort_index\":{}", lane));
  }
  void slice(const TraceEvent& e) {
    line(fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{},\"args\":"
                     "{{\"stage\":{},\"micro_batch\":{},\"step\":{}}}}}",
                     e.rank, e.lane, microseconds(at(e.step, e.begin)), microseconds((e.end - e.begin).ps),
                     quoted(fmt::format("{}{}{} {}", e.stage, e.kind, e.micro_batch, e.op)), quoted({e.kind}), e.stage,
                     e.micro_batch, e.step));
  }
  void message(const TraceFlow& f) {
    slice({f.from_rank, f.step, message_lane(), f.stage, f.micro_batch, f.kind, "send", f.sent, f.arrived});
  }
  void arrow(const TraceFlow& f, std::size_t id) {
    const std::string name = fmt::format("{}{}{}", f.stage, f.kind, f.micro_batch);
    arrow_end('s', id, name, f.from_rank, message_lane(), at(f.step, f.sent));
    arrow_end('f', id, name, f.to_rank, lane_index(result_, "compute"), at(f.step, f.arrived));
  }
  // The lane after all lanes of ops.
  std::int32_t message_lane() const { return static_cast<std::int32_t>(result_.lanes.size()); }

 private:
  std::int64_t at(std::int32_t step, Time t) const {
    const auto index = static_cast<std::size_t>(step);
    TSL_CHECK_OP(index, <, origins_.size());
    return origins_[index] + t.ps;
  }
  void line(const std::string& text) {
    sink_(first_ ? "\n" : ",\n");
    sink_(text);
    first_ = false;
  }
  void metadata(std::int32_t rank, std::int32_t lane, const char* name, const std::string& args) {
    line(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{{}}}}}", rank, lane, name, args));
  }
  void arrow_end(char phase, std::size_t id, const std::string& name, std::int32_t rank, std::int32_t lane,
                 std::int64_t ps) {
    line(fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"id\":{},\"name\":{},\"cat\":\"send\"}}", phase,
                     rank, lane, microseconds(ps), id, quoted(name)));
  }

  const Parallelism& parallelism_;
  const RunResult& result_;
  const TraceSink& sink_;
  std::vector<std::int64_t> origins_;
  bool first_ = true;
};

} // namespace

std::optional<std::string> write_trace(const Scenario& s, const RunResult& r, const TraceOptions& options,
                                       const TraceSink& sink) {
  const std::vector<std::size_t> kept = kept_events(r, options.max_events);
  const bool all = kept.size() == r.events.size();
  Writer writer(s, r, sink);
  std::set<std::int32_t> ranks;
  std::set<std::pair<std::int32_t, std::int32_t>> lanes;
  for (const std::size_t i : kept) {
    ranks.insert(r.events[i].rank);
    lanes.emplace(r.events[i].rank, r.events[i].lane);
  }
  const auto is_kept = [&](const TraceFlow& f) {
    if (!ranks.contains(f.from_rank)) return false;
    const TraceEvent& last = r.events[kept.back()];
    return all || std::pair(f.step, f.arrived) <= std::pair(last.step, last.begin);
  };
  std::vector<std::size_t> flows;
  for (std::size_t id = 0; id < r.flows.size(); ++id)
    if (is_kept(r.flows[id])) flows.push_back(id);
  for (const std::size_t id : flows) lanes.emplace(r.flows[id].from_rank, writer.message_lane());

  writer.begin();
  for (const std::int32_t rank : ranks) writer.process(rank);
  for (const auto& [rank, lane] : lanes) writer.thread(rank, lane);
  // Perfetto reads in time order, equal times in file order: an arrow starts in a slice that is open already and ends
  // at the next slice to open. So messages come before arrows, and ops after them.
  for (const std::size_t id : flows) writer.message(r.flows[id]);
  for (const std::size_t id : flows)
    if (ranks.contains(r.flows[id].to_rank)) writer.arrow(r.flows[id], id);
  for (const std::size_t i : kept) writer.slice(r.events[i]);
  writer.end();
  if (all) return std::nullopt;
  return fmt::format("the trace keeps the earliest {} of {} ops and drops {}; choose fewer ranks or steps",
                     format_count(static_cast<std::int64_t>(kept.size())),
                     format_count(static_cast<std::int64_t>(r.events.size())),
                     format_count(static_cast<std::int64_t>(r.events.size() - kept.size())));
}

std::optional<std::string> write_trace_file(const Scenario& s, const RunResult& r, const std::string& path,
                                            const TraceOptions& options) {
  GzipFile file(path);
  std::optional<std::string> warning = write_trace(s, r, options, [&](std::string_view piece) { file.write(piece); });
  file.commit();
  return warning;
}

} // namespace tessella
