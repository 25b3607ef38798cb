#include "sim/planner/search/expert_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

std::vector<std::int32_t> replicas_of(const ExpertPlacement& placement, std::size_t num_experts) {
  std::vector<std::int32_t> count(num_experts, 0);
  for (const std::int32_t e : placement.expert_at) ++count[at(e)];
  return count;
}

// How many replicas each expert gets when the largest load per replica is made as small as possible, and in which order
// they were given: the first num_experts entries are the experts themselves.
std::vector<std::int32_t> replicate(std::span<const double> load, std::size_t slots) {
  std::vector<std::int32_t> expert(load.size());
  std::iota(expert.begin(), expert.end(), 0);
  std::vector<double> count(load.size(), 1.0);
  while (expert.size() < slots) {
    std::size_t hottest = 0;
    for (std::size_t e = 1; e < load.size(); ++e)
      if (load[e] / count[e] > load[hottest] / count[hottest]) hottest = e;
    expert.push_back(static_cast<std::int32_t>(hottest));
    count[hottest] += 1.0;
  }
  return expert;
}

// Items to packs of equally many, heaviest first into the lightest pack with room; returns for every place (pack by
// pack) its item.
std::vector<std::size_t> pack(std::span<const double> weight, std::size_t packs) {
  const std::size_t room = weight.size() / packs;
  std::vector<std::size_t> order(weight.size());
  std::iota(order.begin(), order.end(), 0);
  if (room == 1) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  std::vector<std::vector<std::size_t>> held(packs);
  std::vector<double> sum(packs, 0.0);
  for (const std::size_t item : order) {
    std::size_t lightest = packs;
    for (std::size_t p = 0; p < packs; ++p)
      if (held[p].size() < room && (lightest == packs || sum[p] < sum[lightest])) lightest = p;
    held[lightest].push_back(item);
    sum[lightest] += weight[item];
  }
  std::vector<std::size_t> places;
  for (const auto& items : held) places.insert(places.end(), items.begin(), items.end());
  return places;
}

// Steps 2 and 3 of EPLB for one node: `experts` are the node's, in its order.
void place_in_node(std::span<const double> load, std::span<const std::int32_t> experts, std::size_t slots,
                   std::size_t gpus, std::vector<std::int32_t>& expert_at) {
  std::vector<double> own;
  for (const std::int32_t e : experts) own.push_back(load[at(e)]);
  const std::vector<std::int32_t> replica = replicate(own, slots);
  std::vector<double> count(own.size(), 0.0);
  for (const std::int32_t r : replica) count[at(r)] += 1.0;
  std::vector<double> weight;
  for (const std::int32_t r : replica) weight.push_back(own[at(r)] / count[at(r)]);
  for (const std::size_t place : pack(weight, gpus)) expert_at.push_back(experts[at(replica[place])]);
}

} // namespace

std::vector<double> gpu_loads(const ExpertPlacement& placement, std::span<const double> load) {
  const std::vector<std::int32_t> count = replicas_of(placement, load.size());
  std::vector<double> sums(at(placement.num_gpus), 0.0);
  for (std::size_t slot = 0; slot < placement.expert_at.size(); ++slot) {
    const std::size_t e = at(placement.expert_at[slot]);
    sums[slot / placement.slots_per_gpu()] += load[e] / count[e];
  }
  return sums;
}

double max_over_mean(std::span<const double> loads) {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (total <= 0.0) return 1.0;
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) / total;
}

double placement_lower_bound(std::span<const double> load, std::int32_t num_slots, std::int32_t num_gpus) {
  double bound = std::accumulate(load.begin(), load.end(), 0.0) / num_gpus;
  std::vector<double> count(load.size(), 0.0);
  for (const std::int32_t e : replicate(load, at(num_slots))) count[at(e)] += 1.0;
  for (std::size_t e = 0; e < load.size(); ++e) bound = std::max(bound, load[e] / count[e]);
  if (at(num_slots) != load.size()) return bound;
  std::vector<double> sorted(load.begin(), load.end());
  std::sort(sorted.begin(), sorted.end());
  const auto company = static_cast<std::ptrdiff_t>(num_slots / num_gpus - 1);
  return std::max(bound, std::accumulate(sorted.begin(), sorted.begin() + company, sorted.back()));
}

double placement_gap(const ExpertPlacement& placement, std::span<const double> load) {
  const auto slots = static_cast<std::int32_t>(placement.expert_at.size());
  const double bound = placement_lower_bound(load, slots, placement.num_gpus);
  const std::vector<double> loads = gpu_loads(placement, load);
  return bound <= 0.0 ? 0.0 : *std::max_element(loads.begin(), loads.end()) / bound - 1.0;
}

ExpertPlacement contiguous_placement(std::int32_t num_experts, std::int32_t num_gpus) {
  TSL_CHECK_OP(num_experts % num_gpus, ==, 0);
  ExpertPlacement p{num_gpus, std::vector<std::int32_t>(at(num_experts))};
  std::iota(p.expert_at.begin(), p.expert_at.end(), 0);
  return p;
}

std::optional<std::string> check_eplb(const EplbShape& s, std::int32_t num_experts) {
  if (s.num_replicas < 1 || s.num_groups < 1 || s.num_nodes < 1 || s.num_gpus < 1 || num_experts < 1)
    return std::string("replicas, groups, nodes, GPUs and experts must be positive");
  if (s.num_replicas < num_experts)
    return fmt::format("{} replicas cannot hold {} experts; nearest: {}", s.num_replicas, num_experts,
                       (num_experts + s.num_gpus - 1) / s.num_gpus * s.num_gpus);
  if (s.num_replicas % s.num_gpus != 0)
    return fmt::format("{} replicas do not divide over {} GPUs; nearest: {}", s.num_replicas, s.num_gpus,
                       (s.num_replicas + s.num_gpus - 1) / s.num_gpus * s.num_gpus);
  if (s.num_gpus % s.num_nodes != 0) return fmt::format("{} GPUs do not divide over {} nodes", s.num_gpus, s.num_nodes);
  if (num_experts % s.num_groups != 0)
    return fmt::format("{} experts do not divide into {} groups", num_experts, s.num_groups);
  return std::nullopt;
}

bool is_global_policy(const EplbShape& shape) {
  return shape.num_groups % shape.num_nodes != 0;
}

ExpertPlacement eplb(std::span<const double> load, const EplbShape& given) {
  TSL_CHECK(!check_eplb(given, static_cast<std::int32_t>(load.size())));
  EplbShape s = given;
  if (is_global_policy(given)) s.num_groups = s.num_nodes = 1;
  const std::size_t group_size = load.size() / at(s.num_groups);
  std::vector<double> groups(at(s.num_groups), 0.0);
  for (std::size_t e = 0; e < load.size(); ++e) groups[e / group_size] += load[e];
  // The experts node by node, in the order their groups were packed.
  std::vector<std::int32_t> experts;
  for (const std::size_t g : pack(groups, at(s.num_nodes)))
    for (std::size_t i = 0; i < group_size; ++i) experts.push_back(static_cast<std::int32_t>(g * group_size + i));
  ExpertPlacement placement{s.num_gpus, {}};
  const std::size_t per_node = load.size() / at(s.num_nodes);
  for (std::size_t n = 0; n < at(s.num_nodes); ++n)
    place_in_node(load, std::span(experts).subspan(n * per_node, per_node), at(s.num_replicas / s.num_nodes),
                  at(s.num_gpus / s.num_nodes), placement.expert_at);
  return placement;
}

Migration migrate(const ExpertPlacement& start, std::span<const double> load, std::int32_t max_swaps) {
  TSL_CHECK_OP(start.expert_at.size(), ==, load.size());
  Migration m{start, 0, 0};
  const std::size_t room = start.slots_per_gpu();
  std::vector<double> sums = gpu_loads(start, load);
  for (; m.swaps < max_swaps; ++m.swaps) {
    const auto hot = static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    const auto cold = static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    double best = sums[hot];
    std::optional<std::pair<std::size_t, std::size_t>> swap;
    for (std::size_t a = hot * room; a < (hot + 1) * room; ++a)
      for (std::size_t b = cold * room; b < (cold + 1) * room; ++b) {
        const double shift = load[at(m.placement.expert_at[a])] - load[at(m.placement.expert_at[b])];
        const double larger = std::max(sums[hot] - shift, sums[cold] + shift);
        if (larger >= best) continue;
        best = larger;
        swap = {a, b};
      }
    if (!swap) break;
    const auto [a, b] = *swap;
    const double shift = load[at(m.placement.expert_at[a])] - load[at(m.placement.expert_at[b])];
    sums[hot] -= shift;
    sums[cold] += shift;
    std::swap(m.placement.expert_at[a], m.placement.expert_at[b]);
  }
  for (std::size_t g = 0; g < sums.size(); ++g) {
    const auto before = std::span(start.expert_at).subspan(g * room, room);
    std::int32_t received = 0;
    for (std::size_t slot = g * room; slot < (g + 1) * room; ++slot)
      received += std::find(before.begin(), before.end(), m.placement.expert_at[slot]) == before.end() ? 1 : 0;
    m.moved_per_gpu = std::max(m.moved_per_gpu, received);
  }
  return m;
}

Bytes expert_state(std::int64_t hidden_size, std::int64_t ffn_hidden_size) {
  return {48 * hidden_size * ffn_hidden_size};
}

MigrationTest migration_test(std::int32_t moved_per_gpu, Bytes expert, Bandwidth per_gpu, Duration gain_per_step,
                             std::int64_t remaining_steps) {
  return {expert * moved_per_gpu / per_gpu, gain_per_step * remaining_steps};
}

} // namespace tessella
