#include "sim/report/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace tessella {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const ErrorSummary& s) {
  ordered_json j{{"n", s.n},
                 {"not_modelled", s.not_modelled},
                 {"median_error", s.median_error},
                 {"median_abs_error", s.median_abs_error},
                 {"p90_abs_error", s.p90_abs_error},
                 {"raw_median_error", s.raw_median_error},
                 {"raw_median_abs_error", s.raw_median_abs_error},
                 {"naive_median_abs_error", nullptr},
                 {"coverage", s.coverage}};
  if (s.naive_median_abs_error) j["naive_median_abs_error"] = *s.naive_median_abs_error;
  return j;
}

ordered_json to_json(const ValidationRow& r) {
  ordered_json j{{"id", r.id}, {"group", r.group}, {"modelled", r.modelled}};
  if (!r.modelled) {
    j["reason"] = r.reason;
    return j;
  }
  j["judged"] = r.judged;
  j["model"] = r.model;
  j["kind"] = r.kind;
  j["measured_s"] = r.measured_s;
  j["raw_s"] = r.raw_s;
  j["predicted_s"] = r.predicted_s;
  j["error"] = r.error;
  j["raw_error"] = r.raw_error;
  j["naive_error"] = r.naive_error ? ordered_json(*r.naive_error) : ordered_json(nullptr);
  j["interval_s"] = {r.low_s, r.high_s};
  return j;
}

std::string percent(double fraction) {
  return fmt::format("{:+.1f}", 100.0 * fraction);
}

void add_summaries(std::string& out, const std::string& title, const std::vector<NamedSummary>& list) {
  fmt::format_to(std::back_inserter(out), "\n{:<26}{:>5}{:>8}{:>10}{:>10}{:>10}{:>8}{:>10}{:>8}\n", title, "n", "no",
                 "median", "median||", "p90||", "raw", "naive||", "cover");
  for (const NamedSummary& n : list) {
    const ErrorSummary& s = n.summary;
    fmt::format_to(std::back_inserter(out), "{:<26}{:>5}{:>8}", n.name, s.n, s.not_modelled);
    if (s.n > 0)
      fmt::format_to(std::back_inserter(out), "{:>10}{:>10.1f}{:>10.1f}{:>8}{:>10}{:>8.0f}", percent(s.median_error),
                     100 * s.median_abs_error, 100 * s.p90_abs_error, percent(s.raw_median_error),
                     s.naive_median_abs_error ? fmt::format("{:.1f}", 100 * *s.naive_median_abs_error) : "-",
                     100 * s.coverage);
    out += '\n';
  }
}

void add_pairs(std::string& out, const std::vector<SwitchPair>& pairs) {
  auto to = std::back_inserter(out);
  const auto told = std::count_if(pairs.begin(), pairs.end(), [](const SwitchPair& p) { return p.told_apart; });
  const auto right = std::count_if(pairs.begin(), pairs.end(), [](const SwitchPair& p) { return p.right(); });
  if (!pairs.empty())
    fmt::format_to(to,
                   "\nswitches: {} of {} pairs have the right sign; {} more differ in what the model does not know\n",
                   right, told, static_cast<std::ptrdiff_t>(pairs.size()) - told);
  for (const SwitchPair& p : pairs)
    fmt::format_to(to, "  {:<11}{:<28}{:<28} measured {:>6} %  predicted {:>6} %{}\n", p.what, p.first, p.second,
                   percent(p.measured), percent(p.predicted),
                   !p.told_apart ? "  not told apart"
                   : p.right()   ? ""
                                 : "  WRONG");
}

} // namespace

std::string validation_json(const ValidationReport& report) {
  ordered_json j;
  j["rows"] = ordered_json::array();
  for (const ValidationRow& r : report.rows) j["rows"].push_back(to_json(r));
  j["overall"] = to_json(report.overall);
  j["classes"] = ordered_json::object();
  for (const NamedSummary& n : report.classes) j["classes"][n.name] = to_json(n.summary);
  j["groups"] = ordered_json::object();
  for (const NamedSummary& n : report.groups) j["groups"][n.name] = to_json(n.summary);
  j["tau"] = ordered_json::object();
  for (const LadderTau& t : report.tau) j["tau"][t.name] = {{"rows", t.rows}, {"pairs", t.pairs}, {"tau", t.tau}};
  j["switches"] = ordered_json::array();
  for (const SwitchPair& p : report.pairs)
    j["switches"].push_back({{"what", p.what},
                             {"first", p.first},
                             {"second", p.second},
                             {"measured", p.measured},
                             {"predicted", p.predicted},
                             {"told_apart", p.told_apart},
                             {"right", p.right()}});
  j["factors"] = ordered_json::object();
  for (const FactorValue& f : report.factors) {
    ordered_json without = ordered_json::object();
    for (const auto& [group, value] : f.without_group) without[group] = value;
    j["factors"][f.name] = {{"meaning", f.meaning}, {"value", f.value}, {"without_group", without}};
  }
  j["wall_s"] = report.wall_s;
  return j.dump(2) + "\n";
}

std::string validation_csv(const ValidationReport& report) {
  std::string out =
      "id,group,model,kind,gpu,gpus,precision,modelled,judged,measured_s,raw_s,predicted_s,raw_error,error,"
      "naive_error,low_s,high_s,reason\n";
  for (const ValidationRow& r : report.rows) {
    std::string reason = r.reason;
    std::replace(reason.begin(), reason.end(), '"', '\'');
    fmt::format_to(std::back_inserter(out), "{},{},\"{}\",{},{},{},{},{},{},", r.id, r.group, r.model, r.kind, r.gpu,
                   r.gpus, r.precision, r.modelled ? 1 : 0, r.judged ? 1 : 0);
    if (r.modelled)
      fmt::format_to(std::back_inserter(out), "{:.6g},{:.6g},{:.6g},{:.4f},{:.4f},{},{:.6g},{:.6g},", r.measured_s,
                     r.raw_s, r.predicted_s, r.raw_error, r.error,
                     r.naive_error ? fmt::format("{:.4f}", *r.naive_error) : "", r.low_s, r.high_s);
    else
      out += ",,,,,,,,";
    fmt::format_to(std::back_inserter(out), "\"{}\"\n", reason);
  }
  return out;
}

std::string validation_text(const ValidationReport& report) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{} rows, {} judged, {} not modelled; {:.1f} s\n", report.rows.size(), report.overall.n,
                 report.overall.not_modelled, report.wall_s);
  fmt::format_to(std::back_inserter(out),
                 "errors in %, predicted / measured - 1; factors fitted on {}; raw: without any factor\n",
                 report.teachers > 0 ? fmt::format("{} other runs", report.teachers) : "the other groups");
  add_summaries(out, "class", report.classes);
  add_summaries(out, "group", report.groups);
  std::map<std::string, int> reasons;
  for (const ValidationRow& r : report.rows)
    if (!r.modelled) ++reasons[r.reason];
  if (!reasons.empty()) out += "\nnot modelled\n";
  for (const auto& [reason, n] : reasons) fmt::format_to(to, "{:>6}  {}\n", n, reason);
  if (!report.tau.empty()) out += "\nrank correlation inside a ladder          rows  pairs    tau\n";
  for (const LadderTau& t : report.tau)
    fmt::format_to(to, "  {:<38}{:>6}{:>7}{:>7.2f}\n", t.name, t.rows, t.pairs, t.tau);
  add_pairs(out, report.pairs);
  if (!report.factors.empty()) out += "\nfactors (fitted on all groups; range over those that leave one out)\n";
  for (const FactorValue& f : report.factors) {
    double low = f.value, high = f.value;
    for (const auto& [group, value] : f.without_group) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    fmt::format_to(to, "  {:<12}{:>6.2f}  ({:.2f} to {:.2f})  {}\n", f.name, f.value, low, high, f.meaning);
  }
  return out;
}

} // namespace tessella
