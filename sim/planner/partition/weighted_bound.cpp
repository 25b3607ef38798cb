#include "sim/planner/partition/weighted_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
#include "sim/planner/partition/schedule_windows.h"

namespace tessella {
namespace {

double ps(Duration d) {
  return static_cast<double>(d.ps);
}

// Compute lane and priced exchange of a pass in a pair.
double priced(const std::vector<OpCost>& ops, double price) {
  double sum = 0.0;
  for (const OpCost& op : ops) {
    if (op.cls == OpClass::ep) {
      sum += price * ps(op.duration);
      continue;
    }
    const double slow = op.contention.moving;
    sum += ps(op.duration) * (1.0 - std::max(0.0, price - (1.0 - 1.0 / slow)) * slow);
  }
  return sum;
}

Features features(const OpChain& chain, double price) {
  return {ps(total(chain.forward)),
          ps(total(chain.backward)),
          ps(total(chain.wgrad)),
          priced(chain.forward, price),
          priced(chain.backward, price),
          priced(chain.wgrad, price),
          0.0};
}

// Prices worth trying: where another kernel begins to cover exchanges; 0 counts the compute lane, 1 the exchanges.
std::vector<double> prices(const ModelOps& ops) {
  std::set<double> all = {0.0, 1.0};
  for (const OpChain& chain : ops.kinds)
    for (const auto* pass : {&chain.forward, &chain.backward, &chain.wgrad})
      for (const OpCost& op : *pass)
        if (op.cls != OpClass::ep) all.insert(1.0 - 1.0 / op.contention.moving);
  constexpr std::size_t kMost = 8;
  std::vector<double> some(all.begin(), all.end());
  if (some.size() <= kMost) return some;
  std::vector<double> thinned;
  for (std::size_t i = 0; i < kMost; ++i) thinned.push_back(some[i * (some.size() - 1) / (kMost - 1)]);
  return thinned;
}

// Gradient reduction per parameter when all parameters of the model were reduced at once: no part of them is cheaper.
struct ReduceSlope {
  double dense = 0.0, expert = 0.0;

  explicit ReduceSlope(const Scenario& s) {
    if (s.optimizer.overlap_grad_reduce) return; // may hide
    StageContent whole{0, static_cast<std::int32_t>(s.model.num_layers()),
                       static_cast<std::int32_t>(s.model.mtp_num_layers), true, true};
    const RankParams p = params(s, whole);
    if (p.dense > 0) dense = ps(grad_reduce(s, p.dense, 0).duration) / static_cast<double>(p.dense);
    if (p.expert > 0) expert = ps(grad_reduce(s, 0, p.expert).duration) / static_cast<double>(p.expert);
  }
  static RankParams params(const Scenario& s, const StageContent& content) {
    constexpr std::int32_t kOnly[] = {0};
    return rank_params(s.model, Partition{{content}}, kOnly, s.parallelism);
  }
  double of(const Scenario& s, const StageContent& content) const {
    const RankParams p = params(s, content);
    return dense * static_cast<double>(p.dense) + expert * static_cast<double>(p.expert);
  }
};

// Features of every interval of layers, with what the first and the last stage hold besides.
class Costs {
 public:
  Costs(const Scenario& s, const ModelOps& ops, double price) : upto_(1, Features{}) {
    const ReduceSlope slope(s);
    for (std::int32_t l = 0; l < s.model.num_layers(); ++l) {
      Features f = features(ops.kinds[static_cast<std::size_t>(s.model.layers[static_cast<std::size_t>(l)])], price);
      f[reduce] = slope.of(s, {l, 1, 0, false, false});
      upto_.push_back(upto_.back());
      upto_.back() += f;
    }
    first_ = features(ops.embedding, price);
    first_[reduce] = slope.of(s, {0, 0, 0, true, false});
    last_ = features(ops.head, price);
    const auto mtp = static_cast<std::int32_t>(s.model.mtp_num_layers);
    for (std::int32_t m = 0; m < mtp; ++m) {
      last_ += features(ops.mtp_extra, price);
      last_ += features(ops.kinds[static_cast<std::size_t>(s.model.mtp_kind)], price);
    }
    last_[reduce] = slope.of(s, {0, 0, mtp, false, true});
  }

  std::size_t layers() const { return upto_.size() - 1; }
  const Features& first() const { return first_; }
  const Features& last() const { return last_; }
  Features of(std::size_t i, std::size_t j) const {
    Features f = upto_[j];
    for (std::size_t k = 0; k < kFeatures; ++k) f[k] -= upto_[i][k];
    return f;
  }
  const std::vector<Features>& upto() const { return upto_; }

 private:
  std::vector<Features> upto_;
  Features first_{}, last_{};
};

class Search {
 public:
  Search(const Costs& costs, const std::vector<Window>& windows) : costs_(costs), windows_(windows) {}

  double best() {
    constexpr int kRounds = 60;
    std::vector<double> weight(windows_.size(), 1.0 / static_cast<double>(windows_.size()));
    double bound = 0.0;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<std::size_t> ends = cheapest(weight);
      std::vector<double> x;
      for (const Window& w : windows_) x.push_back(value(w, ends));
      double sum = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += weight[i] * x[i];
      bound = std::max(bound, sum);
      const double most = *std::max_element(x.begin(), x.end());
      const double step = 60.0 / std::sqrt(1.0 + round);
      double total = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) total += weight[i] *= std::exp(step * (x[i] / most - 1.0));
      for (double& w : weight) w /= total;
    }
    return bound;
  }

 private:
  Features content(std::size_t s, std::size_t i, std::size_t j) const {
    Features f = costs_.of(i, j);
    if (s == 0) f += costs_.first();
    if (s + 1 == windows_.front().stage.size()) f += costs_.last();
    return f;
  }

  double value(const Window& w, const std::vector<std::size_t>& ends) const {
    double sum = w.constant;
    std::size_t from = 0;
    for (std::size_t s = 0; s < ends.size(); from = ends[s++]) sum += dot(w.stage[s], content(s, from, ends[s]));
    return sum;
  }

  // The partition without empty stages that makes the weighted sum smallest. What a stage costs is the difference of a
  // potential at its two ends, so each step of the programme is a running minimum.
  std::vector<std::size_t> cheapest(const std::vector<double>& weight) const {
    const std::size_t stages = windows_.front().stage.size();
    const std::size_t n = costs_.layers();
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    best[0] = 0.0;
    std::vector<std::vector<std::size_t>> from(stages, std::vector<std::size_t>(n + 1, 0));
    for (std::size_t s = 0; s < stages; ++s) {
      Features c{};
      for (std::size_t i = 0; i < windows_.size(); ++i)
        for (std::size_t k = 0; k < kFeatures; ++k) c[k] += weight[i] * windows_[i].stage[s][k];
      std::vector<double> next(n + 1, std::numeric_limits<double>::infinity());
      double least = std::numeric_limits<double>::infinity(); // over starts before j of best[i] - potential(i)
      std::size_t start = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        const double candidate = best[j - 1] - dot(c, costs_.upto()[j - 1]);
        if (candidate < least) least = candidate, start = j - 1;
        next[j] = least + dot(c, costs_.upto()[j]);
        from[s][j] = start;
      }
      best = std::move(next);
    }
    std::vector<std::size_t> ends(stages);
    for (std::size_t s = stages, j = n; s-- > 0; j = from[s][j]) ends[s] = j;
    return ends;
  }

  const Costs& costs_;
  const std::vector<Window>& windows_;
};

} // namespace

Duration weighted_bound(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops, Duration p2p_flight) {
  if (scenario.model.num_layers() < schedule.num_stages) return {};
  const std::vector<Window> windows = schedule_windows(schedule, p2p_flight);
  double best = 0.0;
  for (const double price : prices(ops)) best = std::max(best, Search(Costs(scenario, ops, price), windows).best());
  // Rounding of some thousand additions is far below a millionth; the bound stays one.
  return {static_cast<std::int64_t>(best * (1.0 - 1e-9))};
}

} // namespace tessella
