// Runs gnuplot, an optional program beside ours.
#pragma once

#include <string>

#include "sim/report/plot.h"

namespace tessella {

// Draws the plot into an SVG file, which appears whole or not at all. False, and no file, when gnuplot is not
// installed; InputError when it fails.
bool draw(const Plot& plot, const std::string& file);

} // namespace tessella
