// The text grid of a schedule, which is also the form of the golden files:
//
//   schedule 1f1b ranks=2 stages=2 micro_batches=3
//   r0: 0F0 0F1 0B0 0F2 0B1 0B2
//   r1: 1F0 1B0 1F1 1B1 1F2 1B2
//
// Pairs are written (2F1;0B3); ` shadow=1` ends the first line when micro-batches are padding. Blanks separate cells;
// empty lines and lines that start with # are skipped.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/error.h"
#include "sim/domain/schedule.h"

namespace tessella {

std::string to_grid(const Schedule& schedule);

// The inverse for sound schedules: parse_grid(to_grid(s)) == s. Throws InputError at the first cell that cannot be read
// or, once all are, at the first that validate() minds. O(text).
Schedule parse_grid(std::string_view text, const std::string& file);

} // namespace tessella
