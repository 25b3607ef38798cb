// Moments of rank loads as published for the LAER-MoE trace: loads normalised by their mean over the ranks; static =
// RMS over ranks and layers of (time mean - 1); dynamic = RMS deviation from the time mean; correlations over ranks
// between iterations t and t + lag, averaged; persist = share of consecutive iterations with the same hottest rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tessella::test {

using LoadCube = std::vector<std::vector<std::vector<double>>>; // [layer][iteration][rank]

struct RoutingMoments {
  double max_over_mean = 0.0; // mean over layers and iterations
  double median_max_over_mean = 0.0;
  double cv = 0.0; // standard deviation over ranks, averaged
  double static_rms = 0.0;
  double dynamic_rms = 0.0;
  double lag1 = 0.0;
  double lag2 = 0.0;
  double lag5 = 0.0;
  double persist = 0.0;
};

inline double mean(std::span<const double> x) {
  double sum = 0.0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

inline double variance(std::span<const double> x) {
  const double m = mean(x);
  double sum = 0.0;
  for (const double v : x) sum += (v - m) * (v - m);
  return sum / static_cast<double>(x.size());
}

inline double correlation(std::span<const double> x, std::span<const double> y) {
  const double mx = mean(x);
  const double my = mean(y);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - mx) * (y[i] - my);
  return sum / static_cast<double>(x.size()) / std::sqrt(variance(x) * variance(y));
}

inline std::vector<double> normalised(std::span<const double> x) {
  const double m = mean(x);
  std::vector<double> out(x.begin(), x.end());
  for (double& v : out) v /= m;
  return out;
}

inline double mean_correlation(const std::vector<std::vector<double>>& iterations, std::size_t lag) {
  double sum = 0.0;
  for (std::size_t t = 0; t + lag < iterations.size(); ++t) sum += correlation(iterations[t], iterations[t + lag]);
  return sum / static_cast<double>(iterations.size() - lag);
}

inline RoutingMoments routing_moments(const LoadCube& cube) {
  RoutingMoments m;
  const auto layers = static_cast<double>(cube.size());
  const auto iterations = static_cast<double>(cube[0].size());
  const std::size_t ranks = cube[0][0].size();
  std::vector<double> maxima;
  for (const auto& layer : cube) {
    std::vector<std::vector<double>> loads;
    for (const auto& row : layer) loads.push_back(normalised(row));
    const auto hottest = [&](std::size_t t) { return std::max_element(loads[t].begin(), loads[t].end()); };
    for (std::size_t t = 0; t < loads.size(); ++t) {
      maxima.push_back(*hottest(t));
      m.cv += std::sqrt(variance(loads[t]));
      if (t > 0 && hottest(t) - loads[t].begin() == hottest(t - 1) - loads[t - 1].begin()) m.persist += 1.0;
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<double> history;
      for (const auto& row : loads) history.push_back(row[r]);
      m.static_rms += std::pow(mean(history) - 1.0, 2) / static_cast<double>(ranks);
      m.dynamic_rms += variance(history) / static_cast<double>(ranks);
    }
    m.lag1 += mean_correlation(loads, 1) / layers;
    m.lag2 += mean_correlation(loads, 2) / layers;
    m.lag5 += mean_correlation(loads, 5) / layers;
  }
  m.max_over_mean = mean(maxima);
  std::sort(maxima.begin(), maxima.end());
  m.median_max_over_mean = maxima[maxima.size() / 2];
  m.cv /= layers * iterations;
  m.persist /= layers * (iterations - 1.0);
  m.static_rms = std::sqrt(m.static_rms / layers);
  m.dynamic_rms = std::sqrt(m.dynamic_rms / layers);
  return m;
}

} // namespace tessella::test
