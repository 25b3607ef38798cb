// What changes from step to step, and what limits the job: parts of the text of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/format.h"
#include "sim/report/text.h"

namespace tessella {
namespace {

std::string line(const char* label, const std::string& value, const std::string& remark) {
  return fmt::format("  {:<20}{:<22}{}\n", label, value, remark);
}

std::string percent_of(const RunResult& r, Share share) {
  const auto total = static_cast<double>(std::max<std::int64_t>(1, r.ledger_sum.total().ps));
  return format_percent(static_cast<double>(r.ledger_sum[share].ps) / total);
}

} // namespace

std::string capacity_text(const RunResult& r, const TextStyle& style) {
  const Capacity& c = r.capacity;
  const std::string hidden =
      r.ep_busy_sum.ps > 0 ? fmt::format(" ({} of their time)", format_percent(1.0 - r.ep_hidden_fraction)) : "";
  std::string out = style.colour ? "\x1b[1m  capacity\x1b[0m\n" : "  capacity\n";
  out += line("stage imbalance", format_percent(c.stage_imbalance), "after overlap, slowest over the mean");
  out += line("exposed", format_percent(c.lost_to_fabric),
              fmt::format("ep {}{}, tp {}, cp {}, pp {}, dp {}", percent_of(r, Share::exposed_ep), hidden,
                          percent_of(r, Share::exposed_tp), percent_of(r, Share::exposed_cp),
                          percent_of(r, Share::exposed_pp), percent_of(r, Share::exposed_dp)));
  out += line("pipeline idle", format_percent(c.pipeline_idle), "after bubble filling");
  out += "  lost to, in the order to look at:\n";
  out += line("  1 stages", format_percent(c.lost_to_stages), "what even stages would give back");
  out += line("  2 routing", format_percent(c.lost_to_routing), "waiting for the busiest rank");
  out += line("  3 fabric", format_percent(c.lost_to_fabric), "collectives that nothing hides");
  out += line("  4 schedule", format_percent(c.lost_to_schedule), "warm-up, drain and the other dependencies");
  return out + "\n";
}

std::string phases_text(const RunResult& r, const TextStyle& style) {
  if (r.phases.size() < 2 && (r.phases.empty() || r.phases.front().events.empty())) return "";
  std::string out = "  steps            step time    change       pause  what holds\n";
  if (style.colour) out = "\x1b[1m" + out.substr(0, out.size() - 1) + "\x1b[0m\n";
  const double first = r.phases.front().step_time.seconds();
  for (const RunPhase& p : r.phases) {
    const std::string steps =
        p.steps == 1 ? fmt::format("{}", p.first_step) : fmt::format("{}-{}", p.first_step, p.first_step + p.steps - 1);
    std::string events;
    for (const std::string& e : p.events) events += (events.empty() ? "" : "; ") + e;
    out += fmt::format("  {:<14}{:>12}{:>+8.2f} %{:>12}  {}\n", steps, format_duration(p.step_time),
                       first > 0.0 ? 100.0 * (p.step_time.seconds() / first - 1.0) : 0.0,
                       p.pause == Duration{} ? "-" : format_duration(p.pause), printable(events));
  }
  return out + "\n";
}

std::string adaptation_text(const RunResult& r, const TextStyle&) {
  std::string out;
  for (const Replanning& p : r.replannings) {
    const double gain = p.gain().seconds();
    const std::string even = gain > 0.0 ? fmt::format("pays after {:.0f} steps", std::ceil(p.pause.seconds() / gain))
                                        : std::string("never pays");
    out += line("new plan", fmt::format("before step {}", p.step),
                fmt::format("slowest stage {:+.1f} % off; {}", 100.0 * p.error, p.layout));
    out += line("  break-even", fmt::format("{} pause", format_duration(p.pause)),
                fmt::format("{} -> {} a step: {}", format_duration(p.before), format_duration(p.after), even));
  }
  if (const MigrationSums& m = r.migration; m.moves > 0) {
    const auto moves = static_cast<double>(m.moves);
    out += line("experts moved", format_count(m.moves),
                fmt::format("times, before {} steps; {} of traffic", format_count(m.steps), format_duration(m.pause)));
    out += line("  busiest rank", fmt::format("{:.2f} -> {:.2f}", m.ratio_before / moves, m.ratio_after / moves),
                "over the mean, expected, per move");
  }
  return out.empty() ? out : out + "\n";
}

std::string migration_gain_text(const RunResult& r, const RunResult& still, const TextStyle&) {
  const auto steps = static_cast<std::int64_t>(r.step_times.size());
  const Duration moving{r.migration.pause.ps / std::max<std::int64_t>(1, steps)};
  const double gain = still.step_time.seconds() - (r.step_time - moving).seconds();
  const std::string even =
      gain > 0.0 ? fmt::format("the traffic of all moves pays after {:.1f} steps", r.migration.pause.seconds() / gain)
                 : std::string("moving never pays");
  return line("without moving", format_duration(still.step_time),
              fmt::format("gain {:+.2f} % a step, traffic included {:+.2f} %; {}",
                          100.0 * gain / still.step_time.seconds(),
                          100.0 * (1.0 - r.step_time.seconds() / still.step_time.seconds()), even)) +
         "\n";
}

} // namespace tessella
