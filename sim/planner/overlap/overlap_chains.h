// Two chains of ops over shared resources, one op per resource at a time, non-preemptive: the two-job job shop, solved
// exactly by Akers' method (planning, section 2), also when rates depend on what runs beside.
//
// Picture: the plane of both jobs' progress; a pair of ops on one resource is a rectangle no path may cross.
//
//   job 1 |      +--+           A node is a corner where both jobs stand between two ops at the same time. From a node
//         |  ..../##|  <- NW    both run as fast as they can. Whenever one is about to start an op, it may do so, or
//         | /   |###|           stop until the other has ended its next op on the same resource; where that op runs
//         |/    +--+ <- SE      already, it must. Where it stops, the next node lies.
//         +---------- job 0
//
// Without contention only the stops that must be are worth a look (Akers). With it a stop that need not be can pay,
// because an exchange that starts later slows another op; so all are tried, and rates may change with every cell: an op
// on resource 0 proceeds at its own pace while the other job holds resource 1. What is found is then the best of all
// orders of the ops on their resources, each op as early as its order allows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/planner/overlap/pair_problem.h"

namespace tessella {

struct ShopOp {
  std::uint8_t resource = 0; // 0 is slowed while the other job holds 1
  std::vector<TaskOp> parts; // run one after another; not empty
};

struct TwoJobShop {
  std::array<std::vector<ShopOp>, 2> jobs;
};

class TwoJobSolution {
 public:
  // O(n0 * n1 * (n0 + n1)) for jobs of n0 and n1 ops. The shop must outlive the solution.
  explicit TwoJobSolution(const TwoJobShop& shop);

  // The least time both jobs need from the start of op i of job 0 and op k of job 1 on, i and k up to the number of
  // ops.
  Duration from(std::size_t i, std::size_t k) const { return nodes_[at(i, k)].rest; }
  Duration makespan() const { return from(0, 0); }

  // A best order: all ops in the order in which they start. O((n0 + n1)²).
  struct Start {
    std::size_t job;
    std::size_t op;
    Time at;
  };
  std::vector<Start> starts() const;

 private:
  friend class ShopWalk;
  // What to do from a node: run until `stops` stands before its op of the next node; nothing: run to the end.
  struct Node {
    Duration rest = Duration::max();
    std::optional<std::uint8_t> stops; // job
    std::array<std::size_t, 2> next{};
  };
  std::size_t at(std::size_t i, std::size_t k) const { return i * (shop_.jobs[1].size() + 1) + k; }

  const TwoJobShop& shop_;
  std::vector<Node> nodes_; // [i][k]
};

} // namespace tessella
