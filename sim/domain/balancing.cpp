#include "sim/domain/balancing.h"

namespace tessella {
namespace {

constexpr double kLoss = 0.59;
constexpr double kBias = 0.083;

constexpr std::array<BalancingEffect, 4> kEffects = {{
    {Balancing::none, "none", "nothing balances the router", 1.0, 1.0, 1.0},
    {Balancing::aux_loss, "aux_loss", "a loss on the loads of every micro-batch", kLoss, kLoss, kLoss},
    {Balancing::global_batch, "global_batch", "a loss on the loads of the global batch", kLoss, kLoss, 1.0},
    {Balancing::loss_free_bias, "loss_free_bias", "a bias per expert, updated after every step", kLoss* kBias,
     kLoss* kBias, 1.0},
}};

const BalancingEffect& effect_of(Balancing b) {
  return kEffects[static_cast<std::size_t>(b)];
}

} // namespace

const std::array<BalancingEffect, 4>& balancing_table() {
  return kEffects;
}

const char* name(Balancing b) {
  return effect_of(b).name.data();
}

RoutingSpreads spreads_of(const RoutingSpec& spec) {
  if (!spec.balancing) return {spec.static_sigma, spec.drift_sigma, spec.noise_sigma};
  const BalancingEffect& now = effect_of(*spec.balancing);
  const BalancingEffect& given = effect_of(Balancing::aux_loss);
  return {spec.static_sigma * (now.experts / given.experts), spec.drift_sigma * (now.steps / given.steps),
          spec.noise_sigma * (now.micro_batches / given.micro_batches)};
}

} // namespace tessella
