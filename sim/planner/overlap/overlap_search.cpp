#include "sim/planner/overlap/overlap_search.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/planner/overlap/overlap_moves.h"

namespace tessella {
namespace {

constexpr std::size_t kFirstWidth = 16;
constexpr std::size_t kWiden = 16; // from pass to pass
constexpr std::size_t kMaxWidth = std::size_t{1} << 20;

// How a state was reached.
struct Step {
  std::uint32_t parent = 0; // index in the parent's level
  std::uint32_t parent_level = 0;
  std::array<Holder, 2> takes{};
};

struct Node {
  SearchState state;
  Duration now;
  Duration bound; // of the whole pair
  Step reached;
};

// The states of one level, each once.
class Level {
 public:
  void add(const Node& node) {
    if (2 * (nodes.size() + 1) > table_.size()) grow();
    std::size_t slot = hash(node.state) & (table_.size() - 1);
    for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
      Node& known = nodes[table_[slot] - 1];
      if (!(known.state == node.state)) continue;
      if (node.now < known.now) known = node;
      return;
    }
    nodes.push_back(node);
    table_[slot] = static_cast<std::uint32_t>(nodes.size());
  }
  // Keeps only how the states were reached.
  void retire() {
    steps.reserve(nodes.size());
    for (const Node& n : nodes) steps.push_back(n.reached);
    nodes = {};
    table_ = {};
  }
  std::vector<Node> nodes;
  std::vector<Step> steps;

 private:
  static std::size_t hash(const SearchState& state) {
    std::array<std::uint64_t, sizeof(SearchState) / 8> words;
    static_assert(sizeof(words) == sizeof(SearchState));
    std::memcpy(words.data(), &state, sizeof(state));
    std::uint64_t h = 0;
    for (const std::uint64_t w : words) {
      h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29;
    }
    return static_cast<std::size_t>(h);
  }
  void grow() {
    table_.assign(std::max<std::size_t>(64, 2 * table_.size()), 0);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      std::size_t slot = hash(nodes[n].state) & (table_.size() - 1);
      while (table_[slot] != 0) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<std::uint32_t>(n + 1);
    }
  }
  std::vector<std::uint32_t> table_; // open addressing; 0: free, else index + 1
};

class Search {
 public:
  Search(const PairProblem& problem, const SearchJobs& jobs, const OrderBound& bound, Duration known,
         const SearchLimits& limits)
      : problem_(problem), jobs_(jobs), bound_(bound), moves_(problem, jobs), limits_(limits), best_(known),
        began_(std::chrono::steady_clock::now()) {}

  SearchOutcome run() {
    SearchOutcome outcome;
    outcome.lower_bound = min(best_, bound_.rest({}));
    for (std::size_t width = kFirstWidth; width <= kMaxWidth && !outcome.complete && !hurry_; width *= kWiden) {
      dropped_ = Duration::max();
      pass(width);
      outcome.lower_bound = max(outcome.lower_bound, min(best_, dropped_));
      outcome.complete = outcome.lower_bound == best_;
    }
    outcome.order = std::move(order_);
    outcome.nodes = nodes_;
    return outcome;
  }

 private:
  // Once a limit has struck, the pass at hand ends with narrow levels.
  void check_limits() {
    if (nodes_ >= limits_.nodes) hurry_ = true;
    if (!limits_.seconds || nodes_ % 256 != 0) return;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began_;
    if (spent.count() > *limits_.seconds) hurry_ = true;
  }

  void pass(std::size_t width) {
    levels_.assign(2 * problem_.tasks.size() + 1, {});
    const SearchState start;
    const Duration bound = bound_.rest(start);
    if (bound >= best_) return;
    levels_[0].add({start, {}, bound, {}});
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      for (const std::uint32_t n : most_promising(levels_[l].nodes, hurry_ ? kFirstWidth : width)) expand(l, n);
      levels_[l].retire();
    }
  }

  // At most `width` nodes; the bounds of the others are noted.
  std::vector<std::uint32_t> most_promising(const std::vector<Node>& nodes, std::size_t width) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].bound < best_) kept.push_back(n);
    if (kept.size() <= width) return kept;
    const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(width);
    std::nth_element(kept.begin(), middle, kept.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(nodes[a].bound, a) < std::tie(nodes[b].bound, b);
    });
    for (auto n = middle; n != kept.end(); ++n) dropped_ = min(dropped_, nodes[*n].bound);
    kept.resize(width);
    return kept;
  }

  void expand(std::size_t level, std::uint32_t index) {
    ++nodes_;
    check_limits();
    const Node node = levels_[level].nodes[index];
    if (node.bound >= best_) return;
    for (std::size_t lane = 0; lane < 2; ++lane) moves_.choices(node.state, lane, choices_[lane]);
    for (const LaneChoice& compute : choices_[0])
      for (const LaneChoice& ep : choices_[1]) {
        const Step step{index, static_cast<std::uint32_t>(level), {compute.takes, ep.takes}};
        Node next{node.state, {}, {}, step};
        Duration elapsed;
        if (!moves_.step(next.state, {compute, ep}, elapsed)) continue;
        next.now = node.now + elapsed;
        if (moves_.only_movable_left(next.state))
          finish(next);
        else
          keep(next);
      }
  }

  void keep(Node& node) {
    node.bound = node.now + bound_.rest(node.state);
    if (node.bound < best_) levels_[moves_.level(node.state)].add(node);
  }

  void finish(const Node& node) {
    const Duration makespan = node.now + moves_.movable_rest(node.state);
    if (makespan >= best_) return;
    best_ = makespan;
    order_ = order_of(node.reached);
  }

  // Walks back to the start, then puts the tasks on their lanes; movable tasks left over come last.
  LaneOrders order_of(Step step) const {
    std::vector<Step> path;
    for (; true; step = step_at(step)) {
      path.push_back(step);
      if (step.parent_level == 0) break;
    }
    LaneOrders order;
    std::array<std::size_t, 2> chain{};
    std::vector<bool> placed(problem_.tasks.size(), false);
    const auto place = [&](std::size_t lane, std::size_t task) {
      order.lanes[lane].push_back(task);
      placed[task] = true;
    };
    for (auto s = path.rbegin(); s != path.rend(); ++s)
      for (std::size_t lane = 0; lane < 2; ++lane) {
        const Holder takes = s->takes[lane];
        if (takes == kNobody) continue;
        place(lane, takes <= 2 ? jobs_.chains[takes - 1U][chain[takes - 1U]++] : next_movable(takes - 3U, placed));
      }
    for (std::size_t k = 0; k < jobs_.kinds.size(); ++k)
      for (const std::size_t task : jobs_.kinds[k].tasks)
        if (!placed[task]) place(0, task);
    return order;
  }
  // The first of its kind that has been released.
  std::size_t next_movable(std::size_t kind, const std::vector<bool>& placed) const {
    for (const std::size_t task : jobs_.kinds[kind].tasks)
      if (!placed[task] && placed[*problem_.tasks[task].after]) return task;
    TSL_CHECK(false);
    return 0;
  }
  const Step& step_at(const Step& step) const {
    const Level& level = levels_[step.parent_level];
    return level.steps.empty() ? level.nodes[step.parent].reached : level.steps[step.parent];
  }

  const PairProblem& problem_;
  const SearchJobs& jobs_;
  const OrderBound& bound_;
  PairMoves moves_;
  SearchLimits limits_;
  Duration best_;
  std::optional<LaneOrders> order_;
  Duration dropped_; // the least bound of the states a pass left out
  std::int64_t nodes_ = 0;
  bool hurry_ = false;
  std::chrono::steady_clock::time_point began_;
  std::vector<Level> levels_;
  std::array<std::vector<LaneChoice>, 2> choices_; // scratch
};

} // namespace

SearchOutcome search_orders(const PairProblem& problem, const SearchJobs& jobs, const OrderBound& bound, Duration known,
                            const SearchLimits& limits) {
  return Search(problem, jobs, bound, known, limits).run();
}

} // namespace tessella
