// The last lowering pass: what the data-parallel phase costs each pipeline position.
#pragma once

#include "sim/domain/scenario.h"
#include "sim/exec/program.h"

namespace tessella {

// The parts of a program that follow from the grid, the schedule and the options alone: no templates, no costs.
Program bare_program(const Scenario& scenario, const Schedule& schedule);

// Fills the gradient reduction, parameter gather, optimizer and norm costs of every position.
void cost_positions(const Scenario& scenario, Program& program);

// What the bubble filler may move of the work of the whole step (checkpoint hash, optimizer state from the host), to
// every position. `streaming` is how an expert exchange slows a kernel that streams from HBM.
void add_spare_work(const Scenario& scenario, const Contention& streaming, Program& program);

} // namespace tessella
