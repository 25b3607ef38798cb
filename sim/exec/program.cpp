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

void number_fill_points(Program& program) {
  program.num_fill_points = 0;
  for (Template& t : program.templates)
    for (Op& op : t.ops)
      if (op.fill_point > 0) op.fill_point = ++program.num_fill_points;
}

std::vector<Position> bare_positions(const Schedule& schedule) {
  std::vector<Position> positions(static_cast<std::size_t>(schedule.num_ranks));
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage)
    for (const PpRank rank : schedule.stage_ranks[static_cast<std::size_t>(stage)])
      positions[static_cast<std::size_t>(rank.value)].stages.push_back(stage);
  for (Position& p : positions) p.chunks.resize(p.stages.size());
  return positions;
}

} // namespace tessella
