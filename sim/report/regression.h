// What moved against a baseline: for a terminal, for a pull request (GitHub step summary), for a CI server (JUnit), for
// programs. All four say the same. Names from files are made safe for each format.
#pragma once

#include <span>
#include <string>

#include "sim/domain/baseline.h"

namespace tessella {

std::string regression_text(const std::string& baseline, std::span<const Regression> results);
std::string regression_markdown(const std::string& baseline, std::span<const Regression> results);
// One test suite for the baseline, one test case per experiment and artefact.
std::string regression_junit(const std::string& baseline, std::span<const Regression> results);
// {baseline, failed, experiments[{name, failed, refused, causes[], moves[{artefact, name, before, after, how}]}]}.
std::string regression_json(const std::string& baseline, std::span<const Regression> results);

} // namespace tessella
