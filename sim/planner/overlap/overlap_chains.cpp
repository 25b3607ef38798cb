#include "sim/planner/overlap/overlap_chains.h"

#include <algorithm>

#include "sim/base/check.h"

namespace tessella {

// Both jobs under way from a node.
class ShopWalk {
 public:
  ShopWalk(const TwoJobShop& shop, std::size_t i, std::size_t k) : shop_(shop), next_{i, k} {}

  // Calls about_to_start(job) for every op before it starts, which may call stop(); ends with the jobs or a stop.
  template <class AboutToStart>
  void run(const AboutToStart& about_to_start) {
    while (!stopped_) {
      for (const std::size_t job : {std::size_t{0}, std::size_t{1}}) {
        if (stopped_ || runs(job) || done(job)) continue;
        about_to_start(job);
        if (!stopped_) start(job);
      }
      if (stopped_ || (!runs(0) && !runs(1))) return;
      step();
    }
  }
  void stop() { stopped_ = true; }

  bool runs(std::size_t job) const { return work_[job].op != nullptr; }
  bool done(std::size_t job) const { return next_[job] == shop_.jobs[job].size(); }
  const ShopOp& op(std::size_t job) const { return shop_.jobs[job][next_[job]]; }
  // The op that runs or comes next.
  std::size_t next(std::size_t job) const { return next_[job]; }
  Duration now() const { return now_; }

  // The first op of the job, from the one at hand on, that needs the resource.
  std::optional<std::size_t> first_on(std::size_t job, std::uint8_t resource) const {
    const std::vector<ShopOp>& ops = shop_.jobs[job];
    const auto found = std::find_if(ops.begin() + static_cast<std::ptrdiff_t>(next_[job]), ops.end(),
                                    [&](const ShopOp& o) { return o.resource == resource; });
    if (found == ops.end()) return std::nullopt;
    return static_cast<std::size_t>(found - ops.begin());
  }
  // Time the job needs, with the other standing still, until it has ended op `last`.
  Duration alone_through(std::size_t job, std::size_t last) const {
    Duration sum = work_[job].left;
    for (std::size_t o = next_[job]; o <= last; ++o)
      for (const TaskOp& part : shop_.jobs[job][o].parts)
        if (!runs(job) || o > next_[job] || &part > work_[job].op) sum += part.work;
    return sum;
  }

 private:
  void start(std::size_t job) { work_[job] = {op(job).parts.data(), op(job).parts.front().work}; }

  void step() {
    // One way: resource 0 is slowed by 1. With other resources the order of the arguments does not matter.
    const std::size_t slowed = runs(0) && op(0).resource == 0 ? 0 : 1;
    const bool contend = runs(0) && runs(1) && op(slowed).resource == 0 && op(1 - slowed).resource == 1;
    const LaneStep done = contend ? advance(work_[slowed], work_[1 - slowed]) : advance_freely(slowed);
    now_ += done.elapsed;
    if (done.compute_ended) end_part(slowed);
    if (done.ep_ended) end_part(1 - slowed);
  }
  // As advance(), at full speed.
  LaneStep advance_freely(std::size_t first) {
    const Duration a = runs(first) ? work_[first].left : Duration::max();
    const Duration b = runs(1 - first) ? work_[1 - first].left : Duration::max();
    const LaneStep done{min(a, b), a <= b, b <= a};
    for (LaneWork& w : work_)
      if (w.op) w.left -= done.elapsed;
    return done;
  }
  void end_part(std::size_t job) {
    if (++work_[job].op != op(job).parts.data() + op(job).parts.size()) {
      work_[job].left = work_[job].op->work;
      return;
    }
    work_[job] = {};
    ++next_[job];
  }

  const TwoJobShop& shop_;
  std::array<std::size_t, 2> next_;
  std::array<LaneWork, 2> work_;
  Duration now_;
  bool stopped_ = false;
};

TwoJobSolution::TwoJobSolution(const TwoJobShop& shop) : shop_(shop) {
  const std::size_t n0 = shop.jobs[0].size();
  const std::size_t n1 = shop.jobs[1].size();
  nodes_.resize((n0 + 1) * (n1 + 1));
  // Last nodes first: a node leads only to later ones.
  for (std::size_t i = n0 + 1; i-- > 0;)
    for (std::size_t k = n1 + 1; k-- > 0;) {
      Node& node = nodes_[at(i, k)];
      ShopWalk walk(shop, i, k);
      walk.run([&](std::size_t job) {
        const std::size_t other = 1 - job;
        const auto blocker = walk.first_on(other, walk.op(job).resource);
        if (!blocker) return;
        std::array<std::size_t, 2> next{};
        next[job] = walk.next(job);
        next[other] = *blocker + 1;
        const Duration rest = walk.now() + walk.alone_through(other, *blocker) + from(next[0], next[1]);
        if (rest < node.rest) node = {rest, static_cast<std::uint8_t>(job), next};
        if (walk.runs(other) && walk.next(other) == *blocker) walk.stop();
      });
      const bool finished = walk.done(0) && walk.done(1);
      if (finished && walk.now() < node.rest) node = {walk.now(), std::nullopt, {n0, n1}};
    }
}

std::vector<TwoJobSolution::Start> TwoJobSolution::starts() const {
  std::vector<Start> starts;
  Time origin;
  for (std::array<std::size_t, 2> place{};;) {
    const Node& node = nodes_[at(place[0], place[1])];
    ShopWalk walk(shop_, place[0], place[1]);
    walk.run([&](std::size_t job) {
      if (node.stops == job && walk.next(job) == node.next[job])
        walk.stop();
      else
        starts.push_back({job, walk.next(job), origin + walk.now()});
    });
    if (!node.stops) return starts;
    // The other job runs on alone to the next node.
    const std::size_t other = 1 - *node.stops;
    const std::size_t at_hand = walk.next(other);
    if (!walk.runs(other)) starts.push_back({other, at_hand, origin + walk.now()});
    for (std::size_t op = at_hand + 1; op < node.next[other]; ++op)
      starts.push_back({other, op, origin + walk.now() + walk.alone_through(other, op - 1)});
    origin = origin + walk.now() + walk.alone_through(other, node.next[other] - 1);
    place = node.next;
  }
}

} // namespace tessella
