#include "sim/exec/program.h"

#include <bit>

#include "sim/base/check.h"

namespace tessella {

TokenCurve::TokenCurve(const LoadCurve& curve) {
  TSL_CHECK(std::has_single_bit(static_cast<std::uint64_t>(curve.step)));
  TSL_CHECK_OP(curve.knots.size(), >=, 2U);
  shift = std::countr_zero(static_cast<std::uint64_t>(curve.step));
  for (const Duration d : curve.knots) knots_ps.push_back(d.ps);
}

} // namespace tessella
