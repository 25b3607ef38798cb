// A co-scheduled pair as text: what it costs, and both lanes of the GPU over time. Renders, computes nothing.
//
//   pair F;B by align_defer: 21.49 ms, one after the other 29.80 ms: overlap saves 27.9 %
//     exchanges     13.21 ms, 91.2 % of it beside compute
//     lower bound   21.39 ms, at most 0.48 % better is possible
//   one column = 149.2 us
//   compute Fa0---------Fm0----Bm1...
//   ep      Bc1-------Fd0-------..
//   F forward, B backward, W weight gradient; a attention, d dispatch, m experts, c combine, j join, ...
#pragma once

#include <string>
#include <string_view>

#include "sim/domain/pair_plan.h"

namespace tessella {

struct PairTextOptions {
  int width = 80;
  bool tasks = false; // and a table of all tasks
};

// Long pairs are drawn in several blocks, one below the other. Ends with an empty line. O(tasks + columns).
std::string pair_text(const PairResult& result, std::string_view method, const PairTextOptions& options = {});

} // namespace tessella
