// The terminal's view of a run: what a person wants to know first, in plain text. Renders, computes nothing beyond a
// division by the number of ranks and steps. Each function returns whole lines that keep to `width` columns where names
// allow; the headline and the ledger end with an empty line. No escape codes unless `colour` is set (the caller sets it
// for a terminal and without NO_COLOR).
//
//   ledger (mean of all ranks)        per step       %
//   compute                            3.210 s   54.17   ##############
//   exposed communication             812.4 ms   13.71   ####
//     experts (ep)                    612.4 ms   10.33   ###
#pragma once

#include <string>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

struct TextStyle {
  bool colour = false;
  int width = 80;
};

// Step time, tokens/s/GPU, model TFLOP/s/GPU, MFU and HFU with convention and peak, fullest pipeline rank, then one
// table row with NVIDIA's column names.
std::string headline_text(const Scenario& scenario, const RunResult& result, const TextStyle& style = {});

// Where the step goes, and how far overlap, balance and the evidence behind the costs reach.
std::string ledger_text(const Scenario& scenario, const RunResult& result, const TextStyle& style = {});

// Three numbers beside MFU (stages uneven after overlap, exposed communication, pipeline idle after bubble filling),
// and what is lost in the order in which to look for a cause: stages, routing, fabric, schedule.
std::string capacity_text(const RunResult& result, const TextStyle& style = {});

// One line per phase of a job to which something happens: its steps, their mean, the change against the first phase,
// how long it stood still before it. Empty for all others.
std::string phases_text(const RunResult& result, const TextStyle& style = {});

// Plans made anew with their break-even, and experts that moved. Empty when there was neither.
std::string adaptation_text(const RunResult& result, const TextStyle& style = {});
// A run with moving experts against the same run without: the gain of a step, and when it has paid for the traffic.
std::string migration_gain_text(const RunResult& result, const RunResult& still, const TextStyle& style = {});

// What the bubble filler did; with the same run under policy "none" and under the bound, also its gain and its regret.
std::string filler_text(const Scenario& scenario, const RunResult& result, const TextStyle& style = {});
std::string regret_text(const RunResult& result, const RunResult& none, const RunResult& bound,
                        const TextStyle& style = {});

// Peak of each pipeline rank, the verdict, and the smallest world that fits when it does not.
std::string memory_text(const MemoryReport& memory, const TextStyle& style = {});

// Warnings of loading, then of the run; and the cost of the simulation. Both belong on standard error.
std::string warnings_text(const Scenario& scenario, const RunResult& result, const TextStyle& style = {});
std::string simulation_text(const RunResult& result);

} // namespace tessella
