#include "sim/config/load_events.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/experiment_keys.h"

namespace tessella {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > limit("steps")) return {};
  return value;
}

StepRange read_steps(const Node& node) {
  const std::string text = read_text(node);
  const std::size_t dash = text.find('-');
  const auto first = whole(std::string_view(text).substr(0, dash));
  StepRange range{first.value_or(0), first};
  if (dash != std::string::npos) range.last = whole(std::string_view(text).substr(dash + 1));
  const bool open = dash != std::string::npos && dash + 1 == text.size();
  if (!first || (!open && !range.last))
    throw InputError(node.where(), fmt::format("'{}' is no range of steps; write 7, 10-20 or 10-", text));
  if (range.last && *range.last < *first)
    throw InputError(node.where(), fmt::format("steps {} run backwards; write {}-{}", text, *range.last, *first));
  return range;
}

constexpr double kWorst = 1000.0; // a factor beyond it is a slip of the pen
constexpr Number kFactor{"factor", 1.0, kWorst};

template <class T>
T read_slow(MapReader& m) {
  T slow;
  m.required("rank", slow.rank, Count("rank", 0));
  m.required("factor", slow.factor, kFactor);
  return slow;
}

WhatIf read_what(std::string_view key, MapReader& m) {
  if (key == "slow_gpu") return read_slow<SlowGpu>(m);
  if (key == "slow_nic") return read_slow<SlowNic>(m);
  if (key == "slow_link") return read_slow<SlowLink>(m);
  if (key == "failed_rail") {
    FailedRail e;
    m.required("rail", e.rail, Count("rail", 0));
    return e;
  }
  if (key == "jitter") {
    MoreJitter e;
    m.optional("kernel", e.kernel, read_fraction);
    m.optional("fabric", e.fabric, read_fraction);
    return e;
  }
  if (key == "move_layers") {
    MoveLayers e;
    m.required("layout", e.layout, read_text);
    return e;
  }
  if (key == "dense_circuit") {
    DenseCircuit e;
    m.required("bandwidth", e.bandwidth, read_bandwidth);
    m.optional("setup", e.setup, read_duration);
    return e;
  }
  TSL_CHECK(key == "work_stealing");
  return WorkStealing{};
}

constexpr std::array<std::string_view, 8> kWhats = {"slow_gpu", "slow_nic",    "slow_link",     "failed_rail",
                                                    "jitter",   "move_layers", "dense_circuit", "work_stealing"};

} // namespace

std::vector<WhatIfEvent> read_events(const Node& node, Problems& problems, std::vector<SourceSpan>& where) {
  return read_list<WhatIfEvent>(node, problems, [&](const Node& item) {
    WhatIfEvent event;
    MapReader map(item, problems, "an event", kExperimentAliases);
    map.required("steps", event.steps, read_steps);
    std::optional<SourceSpan> found;
    for (const std::string_view key : kWhats) {
      const Node* what = map.find(key);
      if (!what) continue;
      if (found) throw InputError(what->where(), "an event is one thing; write a second item for the other");
      found = what->where();
      MapReader inner(*what, problems, key, kExperimentAliases);
      event.what = read_what(key, inner);
      inner.done();
    }
    map.done();
    if (!found)
      throw InputError(item.where(), "an event needs one of slow_gpu, slow_nic, slow_link, failed_rail, jitter, "
                                     "move_layers, dense_circuit, work_stealing");
    where.push_back(*found);
    return event;
  });
}

namespace {

std::optional<std::string> check_rank(std::int64_t rank, const Scenario& s) {
  if (rank < s.parallelism.world_size) return std::nullopt;
  return fmt::format("rank {} does not exist; ranks are 0 to {}", rank, s.parallelism.world_size - 1);
}

} // namespace

std::optional<std::string> check_event(const WhatIfEvent& event, const Scenario& s) {
  const std::int64_t last = event.steps.last.value_or(event.steps.first);
  if (last >= s.steps) return fmt::format("step {} is not run; steps are 0 to {}", last, s.steps - 1);
  const bool one_node = s.cluster.node.nics == 0;
  if (const auto* e = std::get_if<SlowGpu>(&event.what)) return check_rank(e->rank, s);
  if (const auto* e = std::get_if<SlowLink>(&event.what)) return check_rank(e->rank, s);
  if (const auto* e = std::get_if<SlowNic>(&event.what)) {
    if (one_node) return "the cluster has no NICs";
    return check_rank(e->rank, s);
  }
  if (const auto* e = std::get_if<FailedRail>(&event.what)) {
    if (one_node) return "the cluster has no NICs";
    if (e->rail >= s.cluster.node.nics)
      return fmt::format("rail {} does not exist; rails are 0 to {}", e->rail, s.cluster.node.nics - 1);
    if (s.cluster.node.nics != s.cluster.node.gpus) return "a rail fails only where every GPU has its own NIC";
    if (s.cluster.node.nics < 2) return "the only rail cannot fail";
  }
  if (std::holds_alternative<WorkStealing>(event.what) && !s.model.has_moe()) return "the model has no experts";
  return std::nullopt;
}

} // namespace tessella
