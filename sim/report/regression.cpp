#include "sim/report/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShown = 6; // moves of one group (pairs, ledger, stages, ...) of an artefact; the rest is counted

std::vector<Move> moves_of(const Regression& r, Artefact artefact) {
  std::vector<Move> out;
  std::copy_if(r.moves.begin(), r.moves.end(), std::back_inserter(out),
               [&](const Move& m) { return m.artefact == artefact; });
  return out;
}

// The first of each group, so that many pairs do not hide the ledger. O(moves * shown).
std::vector<Move> shown(const std::vector<Move>& moves) {
  const auto group = [](const Move& m) { return m.name.substr(0, m.name.find('.')); };
  std::vector<Move> out;
  for (const Move& m : moves) {
    const auto same = std::count_if(out.begin(), out.end(), [&](const Move& o) { return group(o) == group(m); });
    if (static_cast<std::size_t>(same) < kShown) out.push_back(m);
  }
  return out;
}

std::string move_text(const Move& m) {
  return printable(fmt::format("{}: {} -> {}{}{}{}", m.name, m.before, m.after, m.how.empty() ? "" : " (", m.how,
                               m.how.empty() ? "" : ")"));
}

std::string headline(const std::string& baseline, std::span<const Regression> results) {
  const auto failed = std::count_if(results.begin(), results.end(), [](const Regression& r) { return r.failed(); });
  return printable(failed == 0 ? fmt::format("{}: {} experiments as expected", baseline, results.size())
                               : fmt::format("{}: {} of {} experiments moved", baseline, failed, results.size()));
}

// The artefacts in order, each with what moved in it.
std::string artefact_lines(const Regression& r, const char* indent) {
  std::string out;
  for (int a = 0; a < kNumArtefacts; ++a) {
    const auto artefact = static_cast<Artefact>(a);
    const std::vector<Move> moves = moves_of(r, artefact);
    out += fmt::format("{}{}: {}\n", indent, name(artefact),
                       moves.empty() ? "unchanged" : fmt::format("{} moved", moves.size()));
    const std::vector<Move> first = shown(moves);
    for (const Move& m : first) out += fmt::format("{}  {}\n", indent, move_text(m));
    if (moves.size() > first.size()) out += fmt::format("{}  and {} more\n", indent, moves.size() - first.size());
  }
  return out;
}

// `<`, `&` and quotes as entities; characters that XML 1.0 cannot hold are made visible by printable().
std::string xml(const std::string& text) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    for (const char c : printable(line)) {
      if (c == '<')
        out += "&lt;";
      else if (c == '>')
        out += "&gt;";
      else if (c == '&')
        out += "&amp;";
      else if (c == '"')
        out += "&quot;";
      else
        out += c;
    }
    line.clear();
  };
  for (const char c : text) {
    if (c != '\n') {
      line += c;
      continue;
    }
    flush();
    out += '\n';
  }
  flush();
  return out;
}

// A cell of a table: no pipes, no HTML.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '`' || c == '*' || c == '_' || c == '\\' || c == '[' || c == ']') out += '\\';
    if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

std::string cause_lines(const Regression& r, const char* indent) {
  std::string out;
  for (const std::string& cause : causes(r)) out += fmt::format("{}{}\n", indent, printable(cause));
  return out;
}

std::string junit_case(const Regression& r, Artefact artefact) {
  const std::string open = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(r.name), name(artefact));
  if (!r.refused.empty())
    return artefact == Artefact::imbalance
               ? fmt::format("{}>\n      <error message=\"{}\"/>\n    </testcase>\n", open, xml(r.refused))
               : fmt::format("{}>\n      <skipped/>\n    </testcase>\n", open);
  const std::vector<Move> moves = moves_of(r, artefact);
  if (moves.empty()) return open + "/>\n";
  std::string body = "moved by\n" + cause_lines(r, "  ");
  for (const Move& m : moves) body += move_text(m) + "\n";
  return fmt::format("{}>\n      <failure message=\"{} values moved, first {}\">{}</failure>\n    </testcase>\n", open,
                     moves.size(), xml(moves[0].name), xml(body));
}

} // namespace

std::string regression_text(const std::string& baseline, std::span<const Regression> results) {
  std::string out = headline(baseline, results) + "\n";
  for (const Regression& r : results) {
    out += fmt::format("\n{} {}\n", r.failed() ? "FAILED" : "ok    ", printable(r.name));
    if (!r.refused.empty()) {
      out += fmt::format("  {}\n", printable(r.refused));
    } else if (r.failed()) {
      out += "  moved by\n" + cause_lines(r, "    ") + artefact_lines(r, "  ");
    } else if (!r.inputs.empty() || !r.settings.empty()) {
      out += "  inputs differ, and nothing moved:\n" + cause_lines(r, "    ");
    }
  }
  return out;
}

std::string regression_markdown(const std::string& baseline, std::span<const Regression> results) {
  std::string out = fmt::format("### {}\n\n", cell(headline(baseline, results)));
  out += "| experiment | imbalance | bubbles | fabric | totals |\n|---|---|---|---|---|\n";
  for (const Regression& r : results) {
    out += fmt::format("| {} |", cell(r.name));
    for (int a = 0; a < kNumArtefacts; ++a) {
      const std::size_t n = moves_of(r, static_cast<Artefact>(a)).size();
      out += !r.refused.empty() ? " refused |" : n == 0 ? " ok |" : fmt::format(" **{} moved** |", n);
    }
    out += "\n";
  }
  for (const Regression& r : results) {
    if (!r.failed()) continue;
    out += fmt::format("\n#### {}\n\n", cell(r.name));
    if (!r.refused.empty()) {
      out += cell(r.refused) + "\n";
      continue;
    }
    for (const std::string& cause : causes(r)) out += fmt::format("- moved by {}\n", cell(cause));
    out += "\n| artefact | value | expected | now | |\n|---|---|---|---|---|\n";
    for (int a = 0; a < kNumArtefacts; ++a) {
      for (const Move& m : shown(moves_of(r, static_cast<Artefact>(a))))
        out += fmt::format("| {} | {} | {} | {} | {} |\n", name(m.artefact), cell(m.name), cell(m.before),
                           cell(m.after), cell(m.how));
    }
  }
  return out;
}

std::string regression_junit(const std::string& baseline, std::span<const Regression> results) {
  std::string cases;
  std::size_t failures = 0;
  std::size_t errors = 0;
  for (const Regression& r : results) {
    if (!r.refused.empty()) ++errors;
    for (int a = 0; a < kNumArtefacts; ++a) {
      failures += moves_of(r, static_cast<Artefact>(a)).empty() ? 0 : 1;
      cases += junit_case(r, static_cast<Artefact>(a));
    }
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" "
                     "failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
                     xml(baseline), results.size() * kNumArtefacts, failures, errors, cases);
}

std::string regression_json(const std::string& baseline, std::span<const Regression> results) {
  Json experiments = Json::array();
  bool failed = false;
  for (const Regression& r : results) {
    Json moves = Json::array();
    for (const Move& m : r.moves)
      moves.push_back(
          {{"artefact", name(m.artefact)}, {"name", m.name}, {"before", m.before}, {"after", m.after}, {"how", m.how}});
    const bool differs = r.failed() || !r.inputs.empty() || !r.settings.empty();
    experiments.push_back({{"name", r.name},
                           {"failed", r.failed()},
                           {"refused", r.refused},
                           {"causes", differs && r.refused.empty() ? Json(causes(r)) : Json::array()},
                           {"moves", std::move(moves)}});
    failed = failed || r.failed();
  }
  const Json root = {{"baseline", baseline}, {"failed", failed}, {"experiments", std::move(experiments)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
