// Writing an HTML report: the one place that says what to do when this build has no page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/report/html.h"

namespace tessella {

// Writes the report whole or not at all; without a page in this build, a warning on standard error and nothing else.
// True when it was written. Errors: InputError with the path.
bool write_report(const std::string& path, std::span<const ReportInput> results, std::string_view comparison = {});

} // namespace tessella
