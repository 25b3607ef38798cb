// Tokens per expert: what the user asks for. sim/workload turns it into loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessella {

enum class RoutingKind {
  balanced,  // every rank receives exactly its share
  generator, // static offset + AR(1) + noise + multinomial (science: routing statistics of real traces)
  loads,     // a fixed relative load per expert or per EP rank, same for every layer and micro-batch
  trace,     // a CSV of tokens per rank, layer, iteration
};

struct RoutingSpec {
  RoutingKind kind = RoutingKind::balanced;
  // generator: standard deviations of the per-expert log-weight and the AR(1) coefficient between steps
  double static_sigma = 0.35;
  double drift_sigma = 0.25;
  double drift_phi = 0.92;
  double noise_sigma = 0.15; // per micro-batch
  std::vector<double> loads; // relative, any positive scale
  std::string trace_file;
  bool operator==(const RoutingSpec&) const = default;
};

} // namespace tessella
