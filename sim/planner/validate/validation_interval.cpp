#include "sim/planner/validate/validation_interval.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/planner/validate/factors.h"

namespace tessella {
namespace {

constexpr std::size_t kEnoughGroups = 3;
constexpr double kMedianSigma = 0.6745; // median |x| of a standard normal
constexpr std::size_t kClock = 0;       // its place in factor_table()
constexpr double kNinety = 1.645;       // 90 % of it lies within

} // namespace

double left_out_quantile(const std::vector<Residue>& residues, const Residue& like, double q) {
  std::map<std::string, double> rows_of_cell;
  std::set<std::string> groups; // of the same hardware and kind
  for (const Residue& r : residues) {
    rows_of_cell[r.cell] += 1.0;
    if (r.hardware == like.hardware && r.kind == like.kind && r.group != like.group) groups.insert(r.group);
  }
  const bool any_hardware = groups.size() < kEnoughGroups;
  std::vector<std::pair<double, double>> error_weight;
  double total = 0.0;
  for (const Residue& r : residues) {
    if (r.kind != like.kind || r.group == like.group) continue;
    if (r.hardware != like.hardware && !any_hardware) continue;
    const double weight = 1.0 / rows_of_cell[r.cell];
    error_weight.emplace_back(std::abs(r.log_error), weight);
    total += weight;
  }
  std::sort(error_weight.begin(), error_weight.end());
  double seen = 0.0;
  for (const auto& [error, weight] : error_weight) {
    seen += weight;
    if (seen >= q * total) return error;
  }
  return 0.0;
}

std::vector<double> profile_spread(const Profile& profile) {
  std::vector<double> worst(factor_table().size(), 0.0);
  for (const ProfileEntry& e : profile.entries) {
    std::optional<std::size_t> factor = factor_of(e);
    if (!factor && e.op.rfind("gemm", 0) == 0) factor = kClock; // BF16 GEMMs have no factor but the clock's
    if (factor && e.residual) worst[*factor] = std::max(worst[*factor], e.residual->median / kMedianSigma);
  }
  return worst;
}

double half_width(double left_out, const std::vector<double>& sensitivity, const std::vector<double>& spread) {
  double sum = left_out * left_out;
  for (std::size_t k = 0; k < sensitivity.size(); ++k) {
    const double part = kNinety * sensitivity[k] * spread[k];
    sum += part * part;
  }
  return std::sqrt(sum);
}

} // namespace tessella
