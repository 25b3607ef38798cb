#include "sim/report/solver_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/format.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

bool agree(const SolverRace& r) {
  return std::all_of(r.solvers.begin(), r.solvers.end(),
                     [&](const SolverRun& s) { return s.proven() && s.bottleneck == r.solvers.front().bottleneck; });
}

} // namespace

std::string solver_text(const std::string& experiment, const SolverRace& r) {
  std::string text =
      fmt::format("{}: {} edges, {} to {} candidates a stage within {} layers\n"
                  "  variables of equation (1)  {:>8}  after pruning by the serial-balanced partition {:>8}\n"
                  "  variables we solve with    {:>8}  after pruning ({:.3f} s) {:>32}\n"
                  "  distinct pairs             {:>8}  priced in {:.2f} s\n\n  {:<12}{:>14}{:>10}{:>10}{:>12}\n",
                  printable(experiment), format_count(r.edges), r.fewest_candidates, r.most_candidates, r.radius,
                  format_count(r.equation_variables), format_count(r.equation_pruned), format_count(r.variables),
                  r.pruning_s, format_count(r.variables_pruned), format_count(r.pairs_distinct), r.pricing_s, "solver",
                  "bottleneck", "proven", "nodes", "one core");
  text += fmt::format("  {:<12}{:>14}\n", "(serial)", format_duration(r.baseline));
  for (const SolverRun& s : r.solvers)
    text += fmt::format("  {:<12}{:>14}{:>10}{:>10}{:>10.3f} s\n", s.name, format_duration(s.bottleneck),
                        s.proven() ? "yes" : "no", format_count(s.nodes), s.cpu_s);
  if (r.solvers.empty()) return text + "\n  no partition in the neighbourhood fits into memory\n";
  if (r.solvers.size() > 1)
    text += agree(r) ? "\n  the solvers prove the same optimum\n" : "\n  the solvers do not agree\n";
  return text;
}

std::string solver_json(const std::string& experiment, const SolverRace& r) {
  Json solvers = Json::object();
  for (const SolverRun& s : r.solvers)
    solvers[s.name] = {{"bottleneck_s", to_seconds(s.bottleneck)},
                       {"lower_bound_s", to_seconds(s.lower_bound)},
                       {"proven", s.proven()},
                       {"nodes", s.nodes},
                       {"cpu_s", s.cpu_s}};
  const Json root = {{"experiment", experiment},
                     {"radius", r.radius},
                     {"edges", r.edges},
                     {"candidates", {{"fewest", r.fewest_candidates}, {"most", r.most_candidates}}},
                     {"equation_variables", r.equation_variables},
                     {"equation_variables_pruned", r.equation_pruned},
                     {"variables", r.variables},
                     {"variables_pruned", r.variables_pruned},
                     {"pairs", {{"distinct", r.pairs_distinct}, {"cpu_s", r.pricing_s}}},
                     {"pruning_cpu_s", r.pruning_s},
                     {"baseline_s", to_seconds(r.baseline)},
                     {"agree", agree(r)},
                     {"solvers", std::move(solvers)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessella
