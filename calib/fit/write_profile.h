// Writes what a fit found: profile.yaml in the schema of sim/config, residuals.csv by shape bucket, residuals.svg.
#pragma once

#include <string>
#include <vector>

#include "calib/fit/least_squares.h"
#include "sim/domain/profile.h"

namespace tessella::calib {

// Five significant digits; units as sim/config reads them. Throws InternalError for a parameter its form does not know.
std::string profile_yaml(const Profile& profile, const std::string& comment);

// op,dtype,tier,bucket,rows,held_out,median_error,median_abs_error,p95_abs_error; one line per entry and bucket, after
// a line `held out` per entry with the figures of the profile.
std::string residuals_csv(const std::vector<FitResult>& results);

// Spread of the errors of every fitted entry, drawn with gnuplot; false, and no file, when gnuplot is not installed.
// Nothing to draw is no failure.
bool plot_residuals(const std::vector<FitResult>& results, const std::string& title, const std::string& file);

} // namespace tessella::calib
