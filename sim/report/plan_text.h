// A plan for people and for machines: the table of partitions with their simulated step times, the layout string ready
// to paste, the certificate; and `plan --json` with stable keys (SI seconds and bytes).
#pragma once

#include <string>

#include "sim/domain/parallelism.h"
#include "sim/domain/plan_file.h"

namespace tessella {

std::string plan_text(const PlanFile& plan, const Parallelism& parallelism);

// Ends with a newline. Only solver.wall_s differs between two identical runs.
std::string plan_json(const PlanFile& plan);

} // namespace tessella
