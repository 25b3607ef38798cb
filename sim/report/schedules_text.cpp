#include "sim/report/schedules_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

const char* name(ComparisonBasis basis) {
  return basis == ComparisonBasis::devices ? "devices" : "stages";
}

const ScheduleRow* fastest(const ScheduleComparison& c) {
  const ScheduleRow* best = nullptr;
  for (const ScheduleRow& row : c.rows)
    if (row.problem.empty() && row.fits && (!best || row.tokens_per_s_per_gpu > best->tokens_per_s_per_gpu))
      best = &row;
  return best;
}

std::string basis_text(const ScheduleComparison& c) {
  if (c.basis == ComparisonBasis::devices)
    return fmt::format("equal devices: {} GPUs for every schedule, as many stages per pipeline rank as each needs",
                       format_count(c.world_size));
  return fmt::format("equal stages: the model in {} stages for every schedule, as many GPUs as each needs",
                     format_count(c.num_stages));
}

std::string row_text(const ScheduleRow& row, const ScheduleRow* best) {
  if (!row.problem.empty()) return fmt::format("  {:<23}cannot run: {}\n", row.name, printable(row.problem));
  const double to_best = best ? row.tokens_per_s_per_gpu / best->tokens_per_s_per_gpu - 1.0 : 0.0;
  return fmt::format("{} {:<23}{:>6}{:>3}{:>3}{:>7}{:>10}{:>10.0f}{:>9}{:>8}{:>9}{:>7}{:>6.1f}{:>3}{}\n",
                     &row == best ? '*' : ' ', row.name, row.world_size, row.pp, row.vpp,
                     row.given_layout ? "given" : "FLOPs", format_duration(row.step_time), row.tokens_per_s_per_gpu,
                     &row == best || !best ? "" : fmt::format("{:+.1f} %", 100.0 * to_best), format_percent(row.bubble),
                     format_percent(row.exposed), format_gib(row.peak_memory), row.in_flight, row.weights,
                     row.fits ? "" : "  does not fit");
}

} // namespace

std::string schedules_text(const ScheduleComparison& c) {
  const ScheduleRow* best = fastest(c);
  std::string text = fmt::format("{}: {} micro-batches;\n{}\n\n", printable(c.experiment),
                                 format_count(c.num_micro_batches), basis_text(c));
  text +=
      fmt::format("  {:<23}{:>6}{:>3}{:>3}{:>7}{:>10}{:>10}{:>9}{:>8}{:>9}{:>7}{:>6}{:>3}\n", "schedule", "GPUs", "PP",
                  "VP", "layout", "step time", "tok/s/GPU", "to best", "bubble", "exposed", "GiB", "live", "W");
  for (const ScheduleRow& row : c.rows) text += row_text(row, best);
  return text + "\n  live: activations held at the peak, in micro-batches of a whole rank; W: copies of the "
                "weights;\n  layout FLOPs: layers spread anew over the stages, by FLOPs\n";
}

std::string schedules_json(const ScheduleComparison& c) {
  Json rows = Json::array();
  for (const ScheduleRow& row : c.rows) {
    Json json = {{"schedule", row.name}};
    if (row.problem.empty())
      json.update({{"world_size", row.world_size},
                   {"pipeline_model_parallel_size", row.pp},
                   {"num_virtual_stages_per_pipeline_rank", row.vpp},
                   {"given_layout", row.given_layout},
                   {"step_time_s", to_seconds(row.step_time)},
                   {"tokens_per_s_per_gpu", row.tokens_per_s_per_gpu},
                   {"bubble", row.bubble},
                   {"exposed", row.exposed},
                   {"peak_bytes", row.peak_memory.count},
                   {"fits", row.fits},
                   {"in_flight_micro_batches", row.in_flight},
                   {"weight_copies", row.weights}});
    else
      json["problem"] = row.problem;
    rows.push_back(std::move(json));
  }
  const Json root = {{"experiment", c.experiment},
                     {"basis", name(c.basis)},
                     {"num_micro_batches", c.num_micro_batches},
                     {"rows", std::move(rows)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
