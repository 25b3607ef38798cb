// What a balancing method does to the three spreads of the routing generator (domain/routing.h), as factors on the
// log-weights of a router that nothing balances.
//
//   method          experts  steps  micro-batches  acts on
//   none            1        1      1              nothing: what the router wants
//   aux_loss        0.59     0.59   0.59           the loads of every micro-batch, through the loss
//   global_batch    0.59     0.59   1              the loads of the global batch, through the loss: a micro-batch may
//   be
//                                                  as uneven as its text is
//   loss_free_bias  0.049    0.049  1              the loads of the last step, through a bias per expert
//
// 0.59   derived: the lasting spread of `natural` (router with an auxiliary loss: sqrt(0.46^2 + 0.30^2)) over that of
//        `skewed` (router without: sqrt(0.55^2 + 0.75^2)). Two models, one measured with and one without; no source has
//        both for one model.
// 0.083  loss_free_bias over aux_loss: ln(1 + 0.04) / ln(1 + MaxVio), mean of MaxVio 0.72 (1B) and 0.52 (3B), arXiv
//        2408.15664 Table 2. MaxVio is over a whole validation set, so it says nothing of single micro-batches.
// Micro-batches: that only aux_loss evens them out is how the losses are defined; that it costs time when it is missing
// is measured (arXiv 2501.11873: 1.64 against 1.59 s per step).
// Not an input: DeepSeek-V3 has the bias and a small sequence-wise loss; its measured 1.30 (arXiv 2606.04101) lies
// between loss_free_bias (1.43) and the same with aux_loss's micro-batches (1.24;
// tests/oracle/routing_oracle_test.cpp).
#pragma once

#include <array>
#include <string_view>

#include "sim/domain/routing.h"

namespace tessella {

struct BalancingEffect {
  Balancing method;
  std::string_view name;
  std::string_view meaning;
  double experts;       // on static_sigma
  double steps;         // on drift_sigma
  double micro_batches; // on noise_sigma
};

// In the order of the table above.
const std::array<BalancingEffect, 4>& balancing_table();
const char* name(Balancing b);

struct RoutingSpreads {
  double experts = 0.0;
  double steps = 0.0;
  double micro_batches = 0.0;
  bool operator==(const RoutingSpreads&) const = default;
};

// The sigmas of a spec that names a method are those of a router under an auxiliary loss; the method scales them by its
// factors over those of aux_loss.
RoutingSpreads spreads_of(const RoutingSpec& spec);

} // namespace tessella
