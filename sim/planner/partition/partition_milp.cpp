#include "sim/planner/partition/partition_milp.h"

#ifdef TESSELLA_CBC
#include <coin/Cbc_C_Interface.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "sim/base/check.h"

namespace tessella {
namespace {

// Column-wise sparse rows, bounds and objective, as the solver takes them.
struct Columns {
  std::vector<double> upper, objective;
  std::vector<std::vector<std::pair<int, double>>> entries; // [column] (row, value)

  int add(double upper_bound, double cost) {
    upper.push_back(upper_bound);
    objective.push_back(cost);
    entries.emplace_back();
    return static_cast<int>(upper.size()) - 1;
  }
};

struct Row {
  double lower, upper;
};

// Largest cost after scaling: the solver tells objectives apart to 1e-5.
constexpr double kLargestCost = 1e4;
constexpr double kFree = std::numeric_limits<double>::max();

class Milp {
 public:
  explicit Milp(const PartitionProblem& problem) : problem_(problem) {
    Duration largest{1};
    for (const auto& e : problem.edges)
      for (const Duration d : e.cost)
        if (d != Duration::max()) largest = max(largest, d);
    scale_ = kLargestCost / static_cast<double>(largest.ps);
    bottleneck_ = columns_.add(kFree, 1.0);
    for (const auto& stage : problem.candidates) {
      std::vector<int>& y = y_.emplace_back();
      const int row = add_row(1.0, 1.0);
      for (std::size_t c = 0; c < stage.size(); ++c) {
        y.push_back(columns_.add(1.0, 0.0));
        put(row, y.back(), 1.0);
      }
    }
    for (std::size_t s = 0; s + 1 < y_.size(); ++s) add_boundary(s);
    for (const auto& e : problem.edges) add_edge(e);
    for (const auto& l : problem.limits) add_limit(l);
  }

  MilpSize size() const {
    return {static_cast<std::int64_t>(columns_.upper.size()) - 1, static_cast<std::int64_t>(rows_.size())};
  }

  const Columns& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::vector<int>>& y() const { return y_; }
  double scale() const { return scale_; }

 private:
  int add_row(double lower, double upper) {
    rows_.push_back({lower, upper});
    return static_cast<int>(rows_.size()) - 1;
  }
  void put(int row, int column, double value) {
    columns_.entries[static_cast<std::size_t>(column)].push_back({row, value});
  }

  void add_boundary(std::size_t s) {
    const auto& left = problem_.candidates[s];
    const auto& right = problem_.candidates[s + 1];
    std::set<std::int32_t> places;
    for (const StageContent& c : left) places.insert(c.first_layer + c.num_layers);
    for (const StageContent& c : right) places.insert(c.first_layer);
    for (const std::int32_t place : places) {
      const int row = add_row(0.0, 0.0);
      for (std::size_t c = 0; c < left.size(); ++c)
        if (left[c].first_layer + left[c].num_layers == place) put(row, y_[s][c], 1.0);
      for (std::size_t d = 0; d < right.size(); ++d)
        if (right[d].first_layer == place) put(row, y_[s + 1][d], -1.0);
    }
  }

  void add_edge(const PartitionProblem::Edge& e) {
    const std::vector<int>& f = y_[static_cast<std::size_t>(e.forward_stage)];
    const std::vector<int>& b = y_[static_cast<std::size_t>(e.backward_stage)];
    const int most = add_row(-kFree, 0.0); // sum cost z - T <= 0
    put(most, bottleneck_, -1.0);
    if (e.forward_stage == e.backward_stage) {
      for (std::size_t c = 0; c < f.size(); ++c) put_cost(most, f[c], e.cost[c]);
      return;
    }
    std::vector<int> of_f, of_b;
    for (const int y : f) put(of_f.emplace_back(add_row(0.0, 0.0)), y, -1.0);
    for (const int y : b) put(of_b.emplace_back(add_row(0.0, 0.0)), y, -1.0);
    for (std::size_t c = 0; c < f.size(); ++c)
      for (std::size_t d = 0; d < b.size(); ++d) {
        const Duration cost = e.cost[c * b.size() + d];
        if (cost == Duration::max()) continue;
        const int z = columns_.add(1.0, 0.0);
        put(of_f[c], z, 1.0);
        put(of_b[d], z, 1.0);
        put_cost(most, z, cost);
      }
  }

  void put_cost(int row, int column, Duration cost) {
    if (cost == Duration::max())
      columns_.upper[static_cast<std::size_t>(column)] = 0.0;
    else
      put(row, column, static_cast<double>(cost.ps) * scale_);
  }

  void add_limit(const PartitionProblem::Limit& limit) {
    const double unit = 1.0 / static_cast<double>(std::max<std::int64_t>(1, limit.cap.count));
    const int row = add_row(-kFree, limit.cap.count < 0 ? -1.0 : static_cast<double>(limit.cap.count) * unit);
    for (std::size_t i = 0; i < limit.stages.size(); ++i) {
      const std::vector<int>& y = y_[static_cast<std::size_t>(limit.stages[i])];
      for (std::size_t c = 0; c < y.size(); ++c) put(row, y[c], static_cast<double>(limit.load[i][c].count) * unit);
    }
  }

  const PartitionProblem& problem_;
  double scale_ = 1.0;
  Columns columns_;
  std::vector<Row> rows_;
  std::vector<std::vector<int>> y_; // [stage][candidate] column
  int bottleneck_ = 0;
};

} // namespace

MilpSize milp_size(const PartitionProblem& problem) {
  return Milp(problem).size();
}

#ifdef TESSELLA_CBC

namespace {

using CbcModel = std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)>;

CbcModel load(const Milp& milp) {
  const Columns& columns = milp.columns();
  std::vector<CoinBigIndex> start = {0};
  std::vector<int> index;
  std::vector<double> value;
  for (const auto& column : columns.entries) {
    for (const auto& [row, x] : column) {
      index.push_back(row);
      value.push_back(x);
    }
    start.push_back(static_cast<CoinBigIndex>(index.size()));
  }
  std::vector<double> row_lower, row_upper;
  for (const Row& r : milp.rows()) {
    row_lower.push_back(r.lower);
    row_upper.push_back(r.upper);
  }
  const std::vector<double> lower(columns.upper.size(), 0.0);
  CbcModel model(Cbc_newModel(), &Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_loadProblem(model.get(), static_cast<int>(columns.upper.size()), static_cast<int>(milp.rows().size()),
                  start.data(), index.data(), value.data(), lower.data(), columns.upper.data(),
                  columns.objective.data(), row_lower.data(), row_upper.data());
  for (const auto& stage : milp.y())
    for (const int y : stage) Cbc_setInteger(model.get(), y);
  return model;
}

} // namespace

bool has_milp() {
  return true;
}

std::optional<PartitionSolution> solve_milp(const PartitionProblem& problem, double seconds) {
  for (const auto& stage : problem.candidates)
    if (stage.empty()) return std::nullopt;
  const Milp milp(problem);
  const CbcModel model = load(milp);
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_solve(model.get());
  const double* x = Cbc_bestSolution(model.get());
  if (x == nullptr || Cbc_isProvenInfeasible(model.get()) != 0) return std::nullopt;
  PartitionSolution solution;
  for (const auto& stage : milp.y()) {
    const auto best = std::max_element(stage.begin(), stage.end(), [&](int a, int b) { return x[a] < x[b]; });
    solution.choice.push_back(static_cast<std::int32_t>(best - stage.begin()));
  }
  solution.bottleneck = bottleneck_of_choice(problem, solution.choice);
  solution.nodes = Cbc_getNodeCount(model.get());
  const double bound = Cbc_getBestPossibleObjValue(model.get()) / milp.scale();
  solution.lower_bound = Cbc_isProvenOptimal(model.get()) != 0
                             ? solution.bottleneck
                             : min(solution.bottleneck, Duration{static_cast<std::int64_t>(std::max(0.0, bound))});
  return solution;
}

#else

bool has_milp() {
  return false;
}

std::optional<PartitionSolution> solve_milp(const PartitionProblem&, double) {
  TSL_CHECK(has_milp());
  return std::nullopt;
}

#endif

} // namespace tessella
