#include "sim/config/load_sweep.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "sim/config/load.h"
#include "sim/config/message.h"
#include "sim/config/node.h"
#include "sim/config/override_map.h"
#include "sim/config/quantity.h"
#include "sim/config/reader.h"

namespace tessella {
namespace {

constexpr std::int64_t kMaxValues = 1'000'000; // of one axis

constexpr Choice<SampleMethod> kMethods[] = {{"random", SampleMethod::random},
                                             {"latin_hypercube", SampleMethod::latin_hypercube}};

std::int64_t read_whole(const Node& node) {
  const double value = Number{"a bound", -kMaxPlain, kMaxPlain}(node);
  if (value != std::floor(value))
    throw InputError(node.where(), fmt::format("{} is not a whole number", in_quotes(node.text)));
  return static_cast<std::int64_t>(value);
}

void read_counted(MapReader& map, const Node& node, SweepAxis& axis) {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t step = 1;
  map.required("from", from, read_whole);
  map.required("to", to, read_whole);
  map.optional("step", step, read_whole);
  map.done();
  if (step < 1 || to < from || (to - from) / step >= kMaxValues)
    throw InputError(node.where(),
                     fmt::format("from {} to {} by {} is not between 1 and {} values", from, to, step, kMaxValues));
  for (std::int64_t value = from; value <= to; value += step) axis.values.push_back(std::to_string(value));
}

bool written_whole(const Node& node) {
  return node.text.find_first_of(".eE%") == std::string::npos;
}

void read_range(MapReader& map, const Node& node, SweepAxis& axis) {
  SweepRange range;
  const Number bound{"a bound", -kMaxPlain, kMaxPlain};
  map.required("min", range.min, bound);
  map.required("max", range.max, bound);
  map.optional("log", range.log, read_bool);
  const Node* min = map.find("min");
  const Node* max = map.find("max");
  range.integer = min && max && written_whole(*min) && written_whole(*max);
  map.done();
  if (range.max < range.min)
    throw InputError(node.where(), fmt::format("min {} is above max {}", range.min, range.max));
  if (range.log && range.min <= 0.0) throw InputError(node.where(), "a logarithmic range needs min above 0");
  axis.range = range;
}

SweepAxis read_axis(const Entry& entry, Problems& problems) {
  SweepAxis axis;
  axis.path = path_of_key(entry.key);
  const Node& node = entry.value;
  if (node.kind == NodeKind::map) {
    MapReader map(node, problems, "the values of " + axis.path);
    if (map.find("from"))
      read_counted(map, node, axis);
    else
      read_range(map, node, axis);
    return axis;
  }
  require_list(node);
  for (const Node& item : node.items) axis.values.push_back(flow_text(item));
  if (axis.values.empty()) throw InputError(node.where(), axis.path + " has no values");
  return axis;
}

std::vector<SweepAxis> read_grid(const Node& node, Problems& problems) {
  if (node.kind != NodeKind::map)
    throw InputError(node.where(), fmt::format("expected a map of paths to lists of values, not {}", describe(node)));
  std::vector<SweepAxis> axes;
  for (const Entry& entry : node.entries) {
    try {
      axes.push_back(read_axis(entry, problems));
    } catch (const InputError& error) {
      problems.add(error);
    }
  }
  return axes;
}

SweepSample read_sample(const Node& node, Problems& problems) {
  SweepSample sample;
  MapReader map(node, problems, "sample");
  map.required("method", sample.method,
               [](const Node& n) { return read_choice<SampleMethod>(n, "sampling method", kMethods); });
  map.required("points", sample.points, read_whole);
  map.optional("seed", sample.seed, [](const Node& n) { return static_cast<std::uint64_t>(Count("seed", 0)(n)); });
  map.done();
  return sample;
}

Expression read_expression(const Node& node) {
  const std::string text = read_text(node);
  try {
    return Expression::parse(text);
  } catch (const ExpressionError& error) {
    throw InputError(node.where(), fmt::format("{} (at character {} of the constraint)", error.what(), error.column()));
  }
}

// Overrides that every point, or some point, has.
std::vector<std::string> paths_of(const SweepSpec& spec) {
  std::vector<std::string> paths;
  for (const std::string& text : spec.set) paths.push_back(path_of(text));
  for (const auto& entry : spec.list)
    for (const std::string& text : entry) paths.push_back(path_of(text));
  for (const SweepAxis& axis : spec.grid) paths.push_back(axis.path);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

// A constraint on a name that no point sets would silently exclude every point.
void check_names(const SweepSpec& spec, const Node& root, Problems& problems) {
  const std::vector<std::string> paths = paths_of(spec);
  const Entry* constraints = root.find("constraints");
  const SourceSpan where = constraints ? constraints->value.where() : root.where();
  for (const Expression& constraint : spec.constraints)
    for (const std::string& name : constraint.names()) {
      const auto matches = std::count_if(paths.begin(), paths.end(), [&](const std::string& path) {
        return path == name || path.ends_with("." + name);
      });
      if (matches == 0)
        problems.add(InputError(where, fmt::format("{} in a constraint is none of the swept paths: {}", in_quotes(name),
                                                   comma_list(paths))));
      if (matches > 1 && std::find(paths.begin(), paths.end(), name) == paths.end())
        problems.add(
            InputError(where, fmt::format("{} in a constraint is the end of several paths; write the whole path",
                                          in_quotes(name))));
    }
}

SweepSpec read_sweep(const Node& root, Problems& problems) {
  SweepSpec spec;
  MapReader map(root, problems, "the sweep");
  map.required("sweep", spec.name, read_name);
  map.required("experiment", spec.experiment, read_text);
  map.optional("set", spec.set, read_overrides);
  map.optional("grid", spec.grid, [&](const Node& n) { return read_grid(n, problems); });
  map.optional("list", spec.list,
               [&](const Node& n) { return read_list<std::vector<std::string>>(n, problems, read_overrides); });
  map.optional("constraints", spec.constraints,
               [&](const Node& n) { return read_list<Expression>(n, problems, read_expression); });
  map.optional("sample", spec.sample, [&](const Node& n) { return std::optional(read_sample(n, problems)); });
  map.done();
  if (spec.grid.empty() && spec.list.empty())
    problems.add(InputError(root.where(), "the sweep needs a grid, a list, or both"));
  for (const SweepAxis& axis : spec.grid)
    if (axis.range && !spec.sample)
      problems.add(
          InputError(root.where(),
                     fmt::format("{} is a range, which only a sample can draw from; give a list of values, or a sample",
                                 axis.path)));
  check_names(spec, root, problems);
  return spec;
}

} // namespace

SweepSpec load_sweep_text(const std::string& file_name, const std::string& text) {
  require_role(file_name, text, FileRole::sweep);
  const Node root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  Problems problems;
  SweepSpec spec = read_sweep(root, problems);
  problems.throw_if_any();
  spec.experiment = (std::filesystem::path(file_name).parent_path() / spec.experiment).lexically_normal().string();
  return spec;
}

SweepSpec load_sweep(const std::filesystem::path& file) {
  return load_sweep_text(display_path(file), read_file(file));
}

} // namespace tessella
