#include "sim/config/plan_yaml.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <type_traits>

#include "sim/config/document.h"
#include "sim/config/flow_map.h"
#include "sim/config/order_yaml.h"
#include "sim/config/quantity.h"
#include "sim/config/reader.h"
#include "sim/domain/layout.h"

namespace tessella {
namespace {

// Largest whole number that a double holds exactly; counts of a search stay far below.
constexpr double kWhole = 9007199254740992.0;

std::string to_flow(const PlanRow& row) {
  return FlowMap()
      .quote("name", row.name)
      .quote("layout", to_layout(row.partition))
      .raw("bottleneck", duration_text(row.bottleneck))
      .raw("step_time", duration_text(row.step_time))
      .count("free_bytes", row.free.count)
      .text();
}

std::string to_flow(const ScheduleSpec& s) {
  FlowMap map;
  map.quote("name", s.name);
  if (s.file) map.quote("file", *s.file);
  if (s.microbatch_group_size) map.count("microbatch_group_size_per_vp_stage", *s.microbatch_group_size);
  return map.flag_unless("overlap_moe_expert_parallel_comm", s.overlap_moe_expert_parallel_comm, false)
      .flag_unless("delay_wgrad_compute", s.delay_wgrad_compute, false)
      .text();
}

template <class T, class Text>
std::string list(const char* key, const std::vector<T>& items, Text text) {
  if (items.empty()) return fmt::format("{}: []\n", key);
  std::string out = fmt::format("{}:\n", key);
  for (const T& item : items) out += fmt::format("  - {}\n", text(item));
  return out;
}

std::string pairs_text(const PlanPairs& pairs) {
  if (pairs == PlanPairs{}) return "";
  std::string text = fmt::format("overlap: {}\npairs:{}\n",
                                 FlowMap().raw("scheduler", pairs.scheduler).quote("costs", pairs.costs).text(),
                                 pairs.orders.empty() ? " []" : "");
  for (const PairOrder& order : pairs.orders) text += to_yaml(order, "  - ", "    ");
  return text;
}

std::int64_t read_whole(const Node& node) {
  const double x = Number{"a whole number", -kWhole, kWhole}(node);
  if (x != static_cast<double>(static_cast<std::int64_t>(x)))
    throw InputError(node.where(), fmt::format("{} is not a whole number", describe(node)));
  return static_cast<std::int64_t>(x);
}

Partition read_layout(const Node& node) {
  try {
    return parse_layout(read_text(node));
  } catch (const LayoutError& error) {
    throw InputError(node.where(), fmt::format("layout, column {}: {}", error.column(), error.what()));
  }
}

struct PlanReader {
  Problems& problems;

  PlanRow row(const Node& node) const {
    PlanRow r;
    MapReader map(node, problems, "the row");
    map.required("name", r.name, read_text);
    map.required("layout", r.partition, read_layout);
    map.required("bottleneck", r.bottleneck, read_duration);
    map.required("step_time", r.step_time, read_duration);
    map.required("free_bytes", r.free.count, read_whole);
    map.done();
    return r;
  }

  ScheduleSpec schedule(const Node& node) const {
    ScheduleSpec s;
    MapReader map(node, problems, "the schedule");
    map.required("name", s.name, read_text);
    map.optional("file", s.file, [](const Node& n) { return std::optional(read_text(n)); });
    map.optional("microbatch_group_size_per_vp_stage", s.microbatch_group_size,
                 [](const Node& n) { return std::optional(read_whole(n)); });
    map.optional("overlap_moe_expert_parallel_comm", s.overlap_moe_expert_parallel_comm, read_bool);
    map.optional("delay_wgrad_compute", s.delay_wgrad_compute, read_bool);
    map.done();
    return s;
  }

  // Without the orders, which stand in a list of their own.
  PlanPairs overlap(const Node& node) const {
    PlanPairs pairs;
    MapReader map(node, problems, "overlap");
    map.required("scheduler", pairs.scheduler, read_name);
    map.required("costs", pairs.costs, read_text);
    map.done();
    return pairs;
  }

  PlanCertificate certificate(const Node& node) const {
    PlanCertificate c;
    MapReader map(node, problems, "the certificate");
    map.required("lower_bound", c.lower_bound, read_duration);
    map.required("limited_by", c.limited_by, read_text);
    map.required("surrogate_proven", c.surrogate_proven, read_bool);
    map.done();
    return c;
  }

  PlanSearch search(const Node& node) const {
    PlanSearch s;
    std::int64_t radius = 0;
    MapReader map(node, problems, "the search");
    map.required("solver", s.solver, read_name);
    map.required("radius", radius, read_whole);
    map.required("variables", s.variables, read_whole);
    map.required("variables_pruned", s.variables_pruned, read_whole);
    map.required("pairs_distinct", s.pairs_distinct, read_whole);
    map.required("pairs_cached", s.pairs_cached, read_whole);
    map.required("simulations", s.simulations, read_whole);
    map.done();
    s.radius = static_cast<std::int32_t>(radius);
    return s;
  }

  // {KEY: "...", VALUE: x}
  template <class First, class Second, class Reader>
  std::pair<First, Second> two(const Node& node, const char* first, const char* second, const Reader& reader) const {
    std::pair<First, Second> out;
    MapReader map(node, problems, "the item");
    map.required(first, out.first, read_text);
    map.required(second, out.second, reader);
    map.done();
    return out;
  }
};

PlanFile read_plan(const Node& root, Problems& problems) {
  PlanFile p;
  const PlanReader reader{problems};
  MapReader map(root, problems, "the plan");
  map.required("plan", p.experiment, read_text);
  map.required("schedule", p.schedule, [&](const Node& n) { return reader.schedule(n); });
  map.optional("overlap", p.pairs, [&](const Node& n) { return reader.overlap(n); });
  map.optional("pairs", p.pairs.orders, [&](const Node& n) {
    return read_list<PairOrder>(n, problems, [&](const Node& item) { return read_pair_order(item, problems); });
  });
  map.required("best", p.best, [&](const Node& n) { return reader.row(n); });
  map.required("certificate", p.certificate, [&](const Node& n) { return reader.certificate(n); });
  const auto lines = [&](const char* key, auto& out, const auto& item) {
    map.optional(key, out, [&](const Node& n) {
      return read_list<typename std::decay_t<decltype(out)>::value_type>(n, problems, item);
    });
  };
  lines("bounds", p.certificate.bounds, [&](const Node& n) {
    const auto [name, value] = reader.two<std::string, Duration>(n, "name", "value", read_duration);
    return PlanBound{name, value};
  });
  lines("baselines", p.baselines, [&](const Node& n) { return reader.row(n); });
  map.required("search", p.search, [&](const Node& n) { return reader.search(n); });
  lines("limits", p.limits, read_text);
  lines("what_ifs", p.what_ifs, [&](const Node& n) {
    const auto [change, time] = reader.two<std::string, Duration>(n, "change", "step_time", read_duration);
    return PlanWhatIf{change, time};
  });
  lines("inputs", p.inputs,
        [&](const Node& n) { return reader.two<std::string, std::string>(n, "file", "sha256", read_text); });
  map.done();
  return p;
}

} // namespace

std::string to_yaml(const PlanFile& p) {
  const auto row = [](const PlanRow& r) { return to_flow(r); };
  std::string text = fmt::format("plan: {}\n", quote_yaml(p.experiment));
  text += fmt::format("schedule: {}\n", to_flow(p.schedule));
  text += pairs_text(p.pairs);
  text += fmt::format("best: {}\n", to_flow(p.best));
  text +=
      fmt::format("certificate: {}\n", FlowMap()
                                           .raw("lower_bound", duration_text(p.certificate.lower_bound))
                                           .quote("limited_by", p.certificate.limited_by)
                                           .raw("surrogate_proven", p.certificate.surrogate_proven ? "true" : "false")
                                           .text());
  text += list("bounds", p.certificate.bounds, [](const PlanBound& b) {
    return FlowMap().quote("name", b.name).raw("value", duration_text(b.value)).text();
  });
  text += list("baselines", p.baselines, row);
  text += fmt::format("search: {}\n", FlowMap()
                                          .raw("solver", p.search.solver)
                                          .count("radius", p.search.radius)
                                          .count("variables", p.search.variables)
                                          .count("variables_pruned", p.search.variables_pruned)
                                          .count("pairs_distinct", p.search.pairs_distinct)
                                          .count("pairs_cached", p.search.pairs_cached)
                                          .count("simulations", p.search.simulations)
                                          .text());
  text += list("limits", p.limits, [](const std::string& s) { return quote_yaml(s); });
  text += list("what_ifs", p.what_ifs, [](const PlanWhatIf& w) {
    return FlowMap().quote("change", w.change).raw("step_time", duration_text(w.step_time)).text();
  });
  text += list("inputs", p.inputs,
               [](const auto& i) { return FlowMap().quote("file", i.first).quote("sha256", i.second).text(); });
  return text;
}

PlanFile load_plan_text(const std::string& file_name, const std::string& text) {
  require_role(file_name, text, FileRole::plan);
  return read_document<PlanFile>(file_name, text, read_plan);
}

PlanFile load_plan(const std::filesystem::path& file) {
  return load_plan_text(display_path(file), read_file(file));
}

} // namespace tessella
