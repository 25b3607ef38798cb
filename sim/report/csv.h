// Tables for spreadsheets and notebooks: comma-separated, one header line, integers in picoseconds, so that sums hold
// exactly.
#pragma once

#include <string>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

// rank,tp,cp,dp,pp,ep,step_ps,compute_ps,...,optimizer_ps: one row per global rank of the first step; the shares of a
// row sum to its step_ps.
std::string rank_ledger_csv(const Scenario& scenario, const RunResult& result);

// stage,first_layer,num_layers,mtp_layers,embedding,loss,forward_ps,backward_ps: one row per global stage.
std::string stage_csv(const Scenario& scenario, const RunResult& result);

} // namespace tessella
