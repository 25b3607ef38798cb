// Profiles that are two numbers: forward and backward of a pipeline rank's share.
#include <limits>
#include <string>

#include "sim/base/check.h"
#include "sim/exec/lower.h"
#include "sim/exec/positions.h"
#include "sim/topology/groups.h"

namespace tessella {
namespace {

Duration chunk_time(const ProfileEntry& entry, const std::string& param, double fallback_share, std::int64_t vpp) {
  const std::optional<double> own = entry.param(param);
  TSL_CHECK(own || entry.param("backward"));
  const double seconds = own ? *own : *entry.param("backward") * fallback_share;
  return round_to_picoseconds(seconds / static_cast<double>(vpp));
}

// The entry says how large a message is, the topology how fast it travels.
Duration message_flight(const Scenario& scenario, const ProfileEntry& entry) {
  const double message = entry.param("message").value_or(0.0);
  const Cluster& cluster = scenario.cluster;
  if (message == 0.0 || cluster.fabric.kind == FabricKind::ideal) return {0};
  const GroupSpan span = span_of(cluster, scenario.parallelism, GroupKind::pp);
  const Link& link = span.nodes > 1 ? cluster.node.nic : cluster.node.scale_up;
  return link.latency + Bytes{static_cast<std::int64_t>(message)} / link.bandwidth;
}

Template one_op(Duration d, std::int32_t name) {
  Op op;
  op.duration = d;
  op.name = name;
  Template t;
  t.ops.push_back(op);
  return t;
}

} // namespace

bool is_uniform(const Profile& profile) {
  return profile.find("uniform_stage") != nullptr;
}

Program lower_uniform(const Scenario& scenario, const Schedule& schedule) {
  const ProfileEntry* entry = scenario.profile.find("uniform_stage");
  TSL_CHECK(entry != nullptr);
  const std::int64_t vpp = scenario.parallelism.vpp;
  Program program = bare_program(scenario, schedule);
  program.op_names = {"forward", "backward", "input_grad", "weight_grad"};
  program.templates = {
      one_op(chunk_time(*entry, "forward", 0.0, vpp), 0), one_op(chunk_time(*entry, "backward", 1.0, vpp), 1),
      one_op(chunk_time(*entry, "input_grad", 0.5, vpp), 2), one_op(chunk_time(*entry, "weight_grad", 0.5, vpp), 3)};
  program.stage_templates.assign(static_cast<std::size_t>(schedule.num_stages), {0, 1, 2, 3});
  // A pair of uniform chunks runs one after the other: nothing says how they would overlap.
  for (const std::int32_t backward : {1, 2}) {
    Template pair = program.templates[0];
    pair.ops.push_back(program.templates[static_cast<std::size_t>(backward)].ops.front());
    program.pair_templates[{0, backward}] = static_cast<std::int32_t>(program.templates.size());
    program.templates.push_back(std::move(pair));
  }
  program.p2p_flight = message_flight(scenario, *entry);
  return program;
}

} // namespace tessella
