#include "sim/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "sim/report/format.h"

namespace tessella {
namespace {

constexpr const char* kBold = "1";
constexpr const char* kRed = "31";
constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";

std::string paint(const TextStyle& style, const char* code, const std::string& text) {
  return style.colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

// "  label             value             remark"; a long remark is wrapped under itself.
std::string fact(const TextStyle& style, const char* label, const std::string& value, const std::string& remark = "") {
  constexpr int value_column = 22;
  const std::string head = fmt::format("  {:<20}{}", label, paint(style, kBold, value));
  if (remark.empty()) return head + "\n";
  const int used = value_column + static_cast<int>(value.size());
  const int remark_column = std::max(used + 2, value_column + 20);
  return head + std::string(static_cast<std::size_t>(remark_column - used), ' ') +
         wrap(remark, style.width, remark_column) + "\n";
}

std::string note(const TextStyle& style, const std::string& text) {
  return "  " + wrap(text, style.width, 2) + "\n";
}

// ---- headline --------------------------------------------------------------------------------------------------

std::string title(const Scenario& s, const TextStyle& style) {
  const std::string text =
      fmt::format("{}: {} on {} x {} ({}), {}, seed {}", s.name, s.model.name, format_count(s.parallelism.world_size),
                  s.profile.gpu.name, s.cluster.name, s.schedule.name, s.seed);
  return paint(style, kBold, wrap(printable(text), style.width, 0)) + "\n";
}

std::string interval_line(const RunResult& r, const TextStyle& style) {
  if (!r.prediction)
    return fact(style, "interval", "none",
                "this profile was not held against measured runs; those named training were");
  const PredictionInterval& p = *r.prediction;
  return fact(style, "5-95 % interval", fmt::format("{} to {}", format_duration(p.low), format_duration(p.high)),
              fmt::format("where nine of ten of {} measured {} runs lay; median {:.1f} % off", p.residual.rows, p.runs,
                          100.0 * p.residual.median));
}

std::string step_line(const RunResult& r, const TextStyle& style) {
  const std::size_t steps = r.step_times.size();
  const std::string warm_up = r.warm_up > 0 ? fmt::format(" after {} of warm-up", r.warm_up) : "";
  const std::string spread =
      steps > 1 ? fmt::format("+- {} (95 %), p05 {}, p95 {}, {} steps{}{}", format_duration(r.step_time_ci95),
                              format_duration(r.step_time_p05), format_duration(r.step_time_p95), steps, warm_up,
                              r.precise ? ", precise enough" : "")
                : "";
  return fact(style, "step time", format_duration(r.step_time), spread) + interval_line(r, style);
}

std::string memory_line(const MemoryReport& m, const TextStyle& style) {
  const Bytes peak = fullest(m).peak();
  const auto capacity = static_cast<double>(std::max<std::int64_t>(1, m.capacity.count));
  return fact(style, "peak memory", fmt::format("{} of {} GiB", format_gib(peak), format_gib(m.capacity)),
              fmt::format("{}{}, pipeline rank {}", m.fits ? "" : "DOES NOT FIT: ",
                          format_percent(static_cast<double>(peak.count) / capacity), m.peak_rank));
}

struct Column {
  std::string top; // header, two lines
  std::string bottom;
  std::string value;
  std::size_t width() const { return std::max({top.size(), bottom.size(), value.size()}); }
};

std::string one_block(std::span<const Column> columns) {
  std::string lines[3] = {" ", " ", " "};
  for (const Column& c : columns) {
    const std::string* cells[3] = {&c.top, &c.bottom, &c.value};
    for (int i = 0; i < 3; ++i) lines[i] += fmt::format(" {:>{}}", *cells[i], c.width());
  }
  return lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n";
}

// One header and one row; in two blocks when they are wider than the terminal.
std::string one_row_table(std::span<const Column> columns, std::size_t first_block, int width) {
  std::string whole = one_block(columns);
  if (whole.find('\n') <= static_cast<std::size_t>(width)) return whole;
  return one_block(columns.first(first_block)) + one_block(columns.subspan(first_block));
}

std::string nvidia_row(const Scenario& s, const RunResult& r, const TextStyle& style) {
  const Parallelism& p = s.parallelism;
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  std::string precision = name(s.precision);
  std::transform(precision.begin(), precision.end(), precision.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const Column columns[] = {{"", "System", printable(s.cluster.name)},
                            {"", "#-GPUs", number(p.world_size)},
                            {"", "Precision", precision},
                            {"", "GBS", number(s.batch.global_batch_size)},
                            {"", "MBS", number(s.batch.micro_batch_size)},
                            {"Sequence", "Length", number(s.batch.seq_length)},
                            {"", "TP", number(p.tp)},
                            {"", "PP", number(p.pp)},
                            {"", "CP", number(p.cp)},
                            {"", "VP", number(p.vpp)},
                            {"", "EP", number(p.ep)},
                            {"", "GA", number(s.num_micro_batches())},
                            {"Tokens", "/sec/GPU", fmt::format("{:.0f}", r.tokens_per_s_per_gpu)},
                            {"Model TFLOP", "/sec/GPU", fmt::format("{:.1f}", r.tflops_per_gpu)}};
  constexpr std::size_t up_to_sequence_length = 6;
  return one_row_table(columns, up_to_sequence_length, style.width);
}

// ---- ledger ----------------------------------------------------------------------------------------------------

struct LedgerLine {
  const char* label;
  std::vector<Share> shares;
  const char* colour;
};

const std::vector<LedgerLine>& ledger_lines() {
  using enum Share;
  static const std::vector<LedgerLine> lines = {
      {"compute", {compute}, kGreen},
      {"compute || communication", {overlapped}, kGreen},
      {"exposed communication", {exposed_ep, exposed_tp, exposed_cp, exposed_pp, exposed_dp}, kRed},
      {"  experts (ep)", {exposed_ep}, kRed},
      {"  tensor (tp)", {exposed_tp}, kRed},
      {"  context (cp)", {exposed_cp}, kRed},
      {"  pipeline (pp)", {exposed_pp}, kRed},
      {"  data (dp)", {exposed_dp}, kRed},
      {"imbalance wait", {imbalance}, kYellow},
      {"bubble", {bubble_warmup, bubble_drain, bubble_dependency}, kYellow},
      {"  warm-up", {bubble_warmup}, kYellow},
      {"  drain", {bubble_drain}, kYellow},
      {"  dependency", {bubble_dependency}, kYellow},
      {"optimizer", {optimizer}, kGreen},
  };
  return lines;
}

constexpr int kLedgerText = 53; // columns before the bar

std::string ledger_line(const std::string& label, Duration per_rank_step, double fraction, const char* colour,
                        const TextStyle& style) {
  const int room = std::clamp(style.width - kLedgerText, 0, 40);
  const auto bar = static_cast<std::size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * room));
  const std::string text =
      fmt::format("  {:<28}{:>12}{:>8.2f}", label, format_duration(per_rank_step), fraction * 100.0);
  return bar == 0 ? text + "\n" : text + "   " + paint(style, colour, std::string(bar, '#')) + "\n";
}

std::string evidence(const ProvenanceShares& shares) {
  std::string text;
  for (int i = 0; i < kNumProvenances; ++i) {
    const double share = shares[static_cast<std::size_t>(i)];
    if (share == 0.0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_percent(share), name(static_cast<Provenance>(i)));
  }
  return text.empty() ? "none" : text;
}

// Who ordered the pairs, and how far from the best at most.
std::string pairs_line(const RunResult& r, const TextStyle& style) {
  if (!r.pairs) return "";
  const PairUse& p = *r.pairs;
  const std::string count = fmt::format("{} distinct pairs", format_count(p.distinct));
  const std::string gap = fmt::format(", at most {} above the lower bound of a pair", format_percent(p.worst_gap));
  if (p.given == 0)
    return fact(style, "pair orders", p.scheduler,
                fmt::format("{} for {}{}", p.scheduler == "megatron" ? "fixed order" : "searched", count, gap));
  const std::string others =
      p.given == p.distinct ? "" : fmt::format(", the other {} by {}", format_count(p.distinct - p.given), p.scheduler);
  return fact(style, "pair orders", printable(p.source),
              fmt::format("for {} of {}{}{}", format_count(p.given), count, others, gap));
}

std::string replicas_line(const Scenario& s, const RunResult& r, const TextStyle& style) {
  const std::int64_t all = s.parallelism.replicas();
  if (r.simulated_replicas >= all) return fact(style, "replicas simulated", fmt::format("all {}", format_count(all)));
  return fact(style, "replicas simulated",
              fmt::format("{} of {}", format_count(r.simulated_replicas), format_count(all)),
              "the others are identical and counted");
}

} // namespace

std::string headline_text(const Scenario& s, const RunResult& r, const TextStyle& style) {
  const bool fp8 = s.precision == Precision::fp8;
  const double peak = s.profile.gpu.bf16_peak.flops_per_second / 1e12;
  std::string out = title(s, style) + "\n";
  if (r.partial)
    out += note(style, fmt::format("PARTIAL: interrupted after {} of {} steps", r.step_times.size(), s.steps));
  out += step_line(r, style);
  out += fact(style, "tokens/s/GPU", format_count(std::llround(r.tokens_per_s_per_gpu)));
  out += fact(style, "model TFLOP/s/GPU", fmt::format("{:.1f}", r.tflops_per_gpu),
              fmt::format("{}, no recompute", name(s.flops_convention)));
  out += fact(style, "MFU", format_percent(r.mfu),
              fmt::format("of {:.1f} TFLOP/s dense BF16{}", peak, fp8 ? ", though the run is FP8" : ""));
  out += fact(style, "HFU", format_percent(r.hfu), "recompute counted");
  out += memory_line(r.memory, style);
  return out + "\n" + nvidia_row(s, r, style) + "\n";
}

std::string ledger_text(const Scenario& s, const RunResult& r, const TextStyle& style) {
  const Duration total = r.ledger_sum.total();
  const auto rank_steps =
      std::max<std::int64_t>(1, s.parallelism.world_size * static_cast<std::int64_t>(r.step_times.size()));
  const auto line = [&](const char* label, Duration sum, const char* colour) {
    const double fraction = total.ps == 0 ? 0.0 : static_cast<double>(sum.ps) / static_cast<double>(total.ps);
    return ledger_line(label, {sum.ps / rank_steps}, fraction, colour, style);
  };
  std::string out = paint(style, kBold, "  ledger (mean of all ranks)        per step       %") + "\n";
  for (const LedgerLine& row : ledger_lines()) {
    Duration sum;
    for (const Share share : row.shares) sum += r.ledger_sum[share];
    out += line(row.label, sum, row.colour);
  }
  out += fmt::format("  {:<28}{:>12}{:>8.2f}\n\n", "step", format_duration({total.ps / rank_steps}),
                     total.ps ? 100.0 : 0.0);

  const bool has_ep = r.ep_busy_sum.ps > 0;
  out += fact(style, "expert all-to-all", has_ep ? format_percent(r.ep_hidden_fraction) : "none",
              has_ep ? "hidden behind compute" : "");
  out += pairs_line(r, style);
  out += fact(style, "stage imbalance", format_percent(r.stage_imbalance), "slowest stage over the mean, F + B");
  if (s.model.has_moe())
    out += fact(style, "expert load", fmt::format("{:.2f}", r.load_imbalance_mean),
                fmt::format("busiest rank over the mean; worst {:.2f}", r.load_imbalance_max));
  if (const auto factor = s.routing.capacity_factor)
    out += fact(style, "dropped tokens", format_percent(r.dropped),
                fmt::format("of the copies routed; capacity factor {:g}{}", *factor,
                            s.routing.pad_to_capacity ? ", experts padded to it" : ""));
  if (r.filled_bubble.ps > 0) out += fact(style, "bubble filled", format_duration(r.filled_bubble));
  out += fact(style, "costs rest on", evidence(r.provenance));
  return out + replicas_line(s, r, style) + "\n";
}

std::string filler_text(const Scenario& s, const RunResult& r, const TextStyle& style) {
  if (s.bubble_filler.policy == "none") return "";
  const FillSums& f = r.fill;
  return fact(style, "bubble filler", s.bubble_filler.policy,
              fmt::format("{} filled per rank and step, late by {}", format_duration(r.filled_bubble),
                          format_duration(r.fill_overrun))) +
         fact(style, "deferred", format_count(f.deferred),
              fmt::format("weight gradients; {} left over at the end", format_count(f.forced))) +
         fact(style, "fullest pool", format_count(f.pool_peak),
              fmt::format("of {}, {} GiB", s.bubble_filler.pool, format_gib({f.pool_peak_bytes}))) +
         (f.early.ps == 0 ? ""
                          : fact(style, "early", format_duration(f.early),
                                 "recomputed, hashed or fetched ahead of its place, sum over ranks")) +
         "\n";
}

std::string regret_text(const RunResult& r, const RunResult& none, const RunResult& bound, const TextStyle& style) {
  const auto over = [&](const RunResult& base) {
    const double b = base.step_time.seconds();
    return b > 0.0 ? r.step_time.seconds() / b - 1.0 : 0.0;
  };
  return fact(style, "without filler", format_duration(none.step_time),
              fmt::format("this policy: {:+.2f} %", 100.0 * over(none))) +
         fact(style, "bound", format_duration(bound.step_time),
              fmt::format("clairvoyant, not realisable; regret {:.2f} %", 100.0 * over(bound))) +
         "\n";
}

std::string memory_text(const MemoryReport& m, const TextStyle& style) {
  std::string out =
      paint(style, kBold, "  pp rank  weights  gradients  optimizer  activations  buffers    peak  live") + "\n";
  for (std::size_t i = 0; i < m.ranks.size(); ++i) {
    const RankMemory& rank = m.ranks[i];
    const bool is_peak = i == static_cast<std::size_t>(m.peak_rank);
    const std::string row =
        fmt::format("  {:>7}{:>9}{:>11}{:>11}{:>13}{:>9}{:>8}{:>6.1f}", i, format_gib(rank.weights),
                    format_gib(rank.gradients), format_gib(rank.optimizer), format_gib(rank.activations),
                    format_gib(rank.buffers), format_gib(rank.peak()), rank.in_flight_chunks);
    out += (is_peak ? paint(style, m.fits ? kBold : kRed, row + " *") : row) + "\n";
  }
  out += "  GiB; live: (stage, micro-batch) activations held at the peak\n\n";
  out += memory_line(m, style);
  if (!m.fits)
    out += m.smallest_world ? fact(style, "smallest that fits", format_count(*m.smallest_world) + " GPUs")
                            : note(style, "no larger world fits either: this plan's share per GPU does not shrink");
  for (const std::string& assumption : m.assumptions) out += note(style, "assumed: " + printable(assumption));
  return out;
}

std::string warnings_text(const Scenario& s, const RunResult& r, const TextStyle& style) {
  std::string out;
  for (const std::vector<std::string>* list : {&s.warnings, &r.warnings})
    for (const std::string& warning : *list)
      out += paint(style, kYellow, "warning: ") + wrap(printable(warning), style.width, 9) + "\n";
  return out;
}

std::string simulation_text(const RunResult& r) {
  return fmt::format("simulated {} events, {} rank-ops in {:.3f} s, peak memory {} GiB\n", format_count(r.sim.events),
                     format_count(r.sim.rank_ops), r.sim.wall_s, format_gib({r.sim.peak_rss_bytes}));
}

} // namespace tessella
