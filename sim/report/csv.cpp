#include "sim/report/csv.h"

#include <fmt/format.h>

#include <cstddef>

#include "sim/base/check.h"
#include "sim/report/format.h"

namespace tessella {

std::string rank_ledger_csv(const Scenario& s, const RunResult& r) {
  std::string out = "rank,tp,cp,dp,pp,ep,step_ps";
  for (int i = 0; i < kNumShares; ++i) out += fmt::format(",{}_ps", name(static_cast<Share>(i)));
  out += '\n';
  for (std::size_t rank = 0; rank < r.rank_rows.size(); ++rank) {
    const LedgerRow& row = r.rank_rows[rank];
    const RankCoordinates at = coordinates(s.parallelism, static_cast<std::int64_t>(rank));
    out += fmt::format("{},{},{},{},{},{},{}", rank, at.tp, at.cp, at.dp, at.pp, at.ep, row.total().ps);
    for (const Duration share : row.share) out += fmt::format(",{}", share.ps);
    out += '\n';
  }
  return out;
}

std::string stage_csv(const Scenario& s, const RunResult& r) {
  TSL_CHECK_OP(s.partition.stages.size(), ==, r.stages.size());
  std::string out = "stage,first_layer,num_layers,mtp_layers,embedding,loss,forward_ps,backward_ps\n";
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    const StageContent& c = s.partition.stages[i];
    out += fmt::format("{},{},{},{},{:d},{:d},{},{}\n", i, c.first_layer, c.num_layers, c.mtp_layers, c.embedding,
                       c.loss, r.stages[i].forward.ps, r.stages[i].backward.ps);
  }
  return out;
}

} // namespace tessella
