#include "sim/cost/collective_table.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "sim/base/error.h"

namespace tessella {
namespace {

CollectiveRow row_of(Bytes size, Duration time, double factor) {
  const double seconds = time.seconds();
  const Bandwidth algbw{seconds > 0.0 ? static_cast<double>(size.count) / seconds
                                      : std::numeric_limits<double>::infinity()};
  return {size, time, algbw, algbw * factor};
}

// The ranks of one node, and those of equal place in their nodes.
GroupSpan node_part(const GroupSpan& s) {
  return {s.ranks_per_node, 1, s.ranks_per_node, 1, false, 1};
}
GroupSpan rail_part(const GroupSpan& s) {
  return {s.nodes, s.nodes, 1, s.leaves, true, s.nodes_per_leaf};
}

Duration hierarchical_time(const CollectiveModel& model, Collective c, const GroupSpan& span, Bytes size) {
  const GroupSpan node = node_part(span);
  const GroupSpan rail = rail_part(span);
  const Bytes share{(size.count + node.ranks - 1) / node.ranks};
  switch (c) {
  case Collective::all_to_all:
    return model.time(c, node, size) + model.time(c, rail, size);
  case Collective::all_gather:
  case Collective::reduce_scatter:
    return model.time(c, node, size) + model.time(c, rail, share);
  case Collective::all_reduce:
    return model.time(Collective::reduce_scatter, node, size) + model.time(c, rail, share) +
           model.time(Collective::all_gather, node, size);
  case Collective::send_recv:
    break;
  }
  throw InputError("--algo", "a send_recv has no phases; only flat");
}

} // namespace

const char* name(Algorithm a) {
  constexpr std::array names = {"flat", "hierarchical", "halo"};
  return names[static_cast<std::size_t>(a)];
}

Duration collective_time(const CollectiveModel& model, Collective c, const GroupSpan& span, Bytes size, Algorithm a) {
  if (a == Algorithm::halo && c != Collective::all_to_all)
    throw InputError("--algo", fmt::format("halo is an all_to_all, there is none for {}", name(c)));
  if (a == Algorithm::halo) return model.halo_time(span, size);
  const bool phases = a == Algorithm::hierarchical && (span.nodes > 1 || c == Collective::send_recv);
  return phases ? hierarchical_time(model, c, span, size) : model.time(c, span, size);
}

std::vector<CollectiveRow> collective_table(const CollectiveModel& model, Collective c, const GroupSpan& span,
                                            std::span<const Bytes> sizes, Algorithm algorithm) {
  std::vector<CollectiveRow> rows;
  for (const Bytes size : sizes)
    rows.push_back(row_of(size, collective_time(model, c, span, size, algorithm), busbw_factor(c, span.ranks)));
  return rows;
}

std::vector<ExpertRow> expert_table(const CollectiveModel& model, const Cluster& cluster, Dispatcher d, bool is_combine,
                                    const GroupSpan& span, const ExpertTraffic& traffic,
                                    std::span<const std::int64_t> tokens) {
  std::vector<ExpertRow> rows;
  ExpertTraffic of_row = traffic;
  for (const std::int64_t sent : tokens) {
    of_row.tokens_sent = sent;
    const std::int64_t routed = sent * traffic.router_topk;
    const double bytes = static_cast<double>(routed * traffic.hidden_size) * traffic.bytes_per_element;
    const Legs legs = expert_legs(cluster, d, is_combine, span, of_row, routed);
    const double carried = legs.fabric ? legs.fabric->bytes : legs.node ? legs.node->bytes : 0.0;
    rows.push_back({sent, row_of(Bytes{std::llround(bytes)}, model.expert_time(d, is_combine, span, of_row, routed),
                                 bytes > 0.0 ? carried / bytes : 0.0)});
  }
  return rows;
}

std::vector<Bytes> doubling_sizes(Bytes first, Bytes last) {
  std::vector<Bytes> sizes;
  for (Bytes size = first; size.count > 0 && size <= last; size = size * 2) sizes.push_back(size);
  return sizes;
}

} // namespace tessella
