// Exact binomial draws from a counter-based stream.
#pragma once

#include <cstdint>

#include "sim/base/rng.h"

namespace tessella {

// Successes in n trials of probability p, drawn from `stream` alone (uses as many of its words as it needs).
// Inversion for n min(p, 1-p) < 10, else transformed rejection (BTRS: Hormann, "The generation of binomial random
// variates", J. Stat. Comput. Simul. 46, 1993). n >= 0, p in [0, 1]. Some 60 ns.
std::int64_t binomial(const Stream& stream, std::int64_t n, double p);

} // namespace tessella
