// nccl-tests' table of a collective, by three algorithms, and the same table for an expert dispatcher.
//
//   flat          as NCCL runs it, at the rates of the profile (collective.h)
//   hierarchical  phases over smaller groups, one after another: `node` = the g ranks of a node, `rail` = the N ranks
//   of
//                 equal place in their nodes
//                   all_to_all      node (what goes to each rail), then rail
//                   all_gather      rail on S/g, then node on S
//                   reduce_scatter  node on S, then rail on S/g
//                   all_reduce      reduce_scatter in the node, all_reduce of S/g on the rail, all_gather in the node
//                 Inside one node it is flat; send_recv has no phases.
//   halo          all_to_all only (halo_time)
//
// algbw = size / time, busbw = algbw * busbw_factor; never above the bottleneck link. A free transfer has infinite
// bandwidths. O(rows).
#pragma once

#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/collective.h"

namespace tessella {

enum class Algorithm { flat, hierarchical, halo };
const char* name(Algorithm a);

struct CollectiveRow {
  Bytes size; // in nccl-tests' sense
  Duration time;
  Bandwidth algbw;
  Bandwidth busbw;
};

// Throws InputError for an algorithm that the collective does not have.
Duration collective_time(const CollectiveModel& model, Collective c, const GroupSpan& span, Bytes size, Algorithm a);
std::vector<CollectiveRow> collective_table(const CollectiveModel& model, Collective c, const GroupSpan& span,
                                            std::span<const Bytes> sizes, Algorithm algorithm = Algorithm::flat);

// Balanced dispatch (combine) of `tokens` tokens per rank; traffic.tokens_sent is ignored. `size` is the routed rows of
// one rank, top-k copies counted; busbw is what its NIC carries (inside one node: its scale-up link) after duplicates
// are removed, over time.
struct ExpertRow {
  std::int64_t tokens = 0;
  CollectiveRow cost;
};
std::vector<ExpertRow> expert_table(const CollectiveModel& model, const Cluster& cluster, Dispatcher d, bool is_combine,
                                    const GroupSpan& span, const ExpertTraffic& traffic,
                                    std::span<const std::int64_t> tokens);

// Sizes first, 2*first, 4*first, ... up to last, as nccl-tests' -b, -e, -f 2.
std::vector<Bytes> doubling_sizes(Bytes first, Bytes last);

} // namespace tessella
