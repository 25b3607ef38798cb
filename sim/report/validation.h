// A comparison with measured runs as text, JSON (keys of design: rows, overall, groups, tau) and CSV (one line a row).
#pragma once

#include <string>

#include "sim/domain/validation.h"

namespace tessella {

std::string validation_text(const ValidationReport& report);
std::string validation_json(const ValidationReport& report);
std::string validation_csv(const ValidationReport& report);

} // namespace tessella
