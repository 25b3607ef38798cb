// A comparison for people and for programs.
#pragma once

#include <string>

#include "sim/domain/comparison.h"

namespace tessella {

std::string comparison_text(const Comparison& comparison);
// {step_time_s{before, after}, relative, significance, has_interval, inputs[..], settings[..], ledger[..], others[..]};
// times in seconds. Ends with a newline.
std::string comparison_json(const Comparison& comparison);

} // namespace tessella
