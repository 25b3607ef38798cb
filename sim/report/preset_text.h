// The table of `tessella compare --presets`, and its JSON.
#pragma once

#include <span>
#include <string>

#include "sim/domain/preset_row.h"

namespace tessella {

std::string preset_text(const std::string& experiment, std::span<const PresetRow> rows);
// Ends with a newline; SI seconds, bytes, fractions of the step.
std::string preset_json(const std::string& experiment, std::span<const PresetRow> rows);

} // namespace tessella
