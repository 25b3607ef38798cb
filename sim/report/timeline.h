// The chosen ranks over time as text: one row per rank, time from left to right.
//
//   step 0: 12.00 ms, one column = 250.0 us
//   rank 0 F0--F1--F2--F3--........B0----~~B1----~~B2----~~B3----~~
//   rank 1 ....F0--F1--F2--F3--B0----~~B1----~~B2----~~B3----~~....
//
// How to read it: an action is drawn as its kind (F forward, B backward, I input gradient, W weight gradient,
// D data-parallel, O optimizer), then its micro-batch modulo 10, then '-' while it computes and '~' while it only
// communicates (exposed collectives and the wait for their last rank). A column shows what took longest in it, '.' when
// the rank stood idle. Two letters that alternate are a co-scheduled pair. So rank 0 above waits eight columns between
// its last forward and its first backward: its bubble.
#pragma once

#include <cstdint>
#include <string>

#include "sim/ledger/result.h"

namespace tessella {

struct TimelineOptions {
  std::int32_t step = 0;
  int width = 80;
};

// From the events of the chosen ranks; says so when the run recorded none. O(events + ranks * width).
std::string timeline_text(const RunResult& result, const TimelineOptions& options = {});

} // namespace tessella
