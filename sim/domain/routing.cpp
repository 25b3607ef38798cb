#include "sim/domain/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessella {
namespace {

RoutingSpec generator(double static_sigma, double drift_sigma, double drift_phi, double noise_sigma) {
  RoutingSpec spec;
  spec.kind = RoutingKind::generator;
  spec.static_sigma = static_sigma;
  spec.drift_sigma = drift_sigma;
  spec.drift_phi = drift_phi;
  spec.noise_sigma = noise_sigma;
  return spec;
}

// What is wrong with a row on its own or after the row before it.
std::string row_problem(std::span<const TraceRow> rows, std::size_t i) {
  const TraceRow& r = rows[i];
  constexpr std::int64_t kMaxIndex = 1'000'000;
  for (const auto& [what, index] :
       {std::pair{"iteration", r.iteration}, std::pair{"layer", r.layer}, std::pair{"rank", r.column}})
    if (index < 0 || index > kMaxIndex) return fmt::format("{} {} is not between 0 and {}", what, index, kMaxIndex);
  if (r.tokens < 0) return fmt::format("{} tokens; a count cannot be negative", r.tokens);
  if (i == 0) return {};
  const std::int64_t before = rows[i - 1].iteration;
  if (r.iteration < before)
    return fmt::format("time goes backwards: iteration {} after iteration {}", r.iteration, before);
  if (r.iteration > before + 1)
    return fmt::format("iteration {} after iteration {}: those between are missing", r.iteration, before);
  return {};
}

// Puts the rows in place. Whole iterations were checked to have layers * columns rows.
std::variant<RoutingTrace, TraceProblem> place(std::span<const TraceRow> rows, RoutingTrace trace) {
  trace.tokens.assign(rows.size(), 0);
  std::vector<bool> seen(rows.size(), false);
  const std::int64_t per_iteration = trace.layers * trace.columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TraceRow& r = rows[i];
    const std::int64_t iteration = r.iteration - rows[0].iteration;
    const auto at = static_cast<std::size_t>(iteration * per_iteration + r.layer * trace.columns + r.column);
    if (seen[at])
      return TraceProblem{
          i, fmt::format("a second row for iteration {}, layer {}, rank {}", r.iteration, r.layer, r.column)};
    seen[at] = true;
    trace.tokens[at] = r.tokens;
  }
  for (std::int64_t i = 0; i < trace.iterations; ++i)
    for (std::int64_t l = 0; l < trace.layers; ++l) {
      const auto row = trace.row(i, l);
      if (std::all_of(row.begin(), row.end(), [](std::int64_t t) { return t == 0; }))
        return TraceProblem{static_cast<std::size_t>(i * per_iteration),
                            fmt::format("iteration {}, layer {} has 0 tokens in all", rows[0].iteration + i, l)};
    }
  return trace;
}

} // namespace

std::variant<RoutingTrace, TraceProblem> make_trace(std::span<const TraceRow> rows) {
  if (rows.empty()) return TraceProblem{0, "the trace has no rows"};
  RoutingTrace trace;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::string problem = row_problem(rows, i); !problem.empty()) return TraceProblem{i, std::move(problem)};
    trace.layers = std::max(trace.layers, rows[i].layer + 1);
    trace.columns = std::max(trace.columns, rows[i].column + 1);
  }
  // Count rows per iteration before anything is allocated by what the file claims.
  const auto claimed = static_cast<double>(trace.layers) * static_cast<double>(trace.columns);
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end].iteration == rows[begin].iteration) ++end;
    if (static_cast<double>(end - begin) != claimed)
      return TraceProblem{end - 1,
                          fmt::format("iteration {} has {} rows, {} layers of {} ranks need {}", rows[begin].iteration,
                                      end - begin, trace.layers, trace.columns, claimed)};
    ++trace.iterations;
    begin = end;
  }
  return place(rows, std::move(trace));
}

std::vector<RoutingPreset> routing_presets() {
  return {
      {"balanced", "every rank receives exactly its share", RoutingSpec{}},
      {"mild", "balanced by bias updates, as late in the training of DeepSeek-V3", generator(0.16, 0.11, 0.95, 0.12)},
      {"natural", "an auxiliary loss, as late in the training of GLM-4.5 and Qwen3-235B",
       generator(0.46, 0.30, 0.94, 0.18)},
      {"skewed", "no balancing loss, as in the LAER-MoE trace", generator(0.55, 0.75, 0.95, 0.20)},
      {"burst", "early training: little lasts from one micro-batch to the next", generator(0.18, 0.18, 0.90, 0.45)},
  };
}

std::optional<RoutingSpec> routing_preset(const std::string& name) {
  for (RoutingPreset& preset : routing_presets())
    if (preset.name == name) return std::move(preset.spec);
  return std::nullopt;
}

} // namespace tessella
