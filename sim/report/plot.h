// Points as a gnuplot script that draws an SVG; whoever has gnuplot runs it (sim/cli/gnuplot.h).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessella {

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::string all;  // what the single points are, for the key
  std::string best; // what the line joins
  bool log_x = false;
  std::vector<std::pair<double, double>> points;
  std::vector<std::pair<double, double>> line;
};

// The script writes the drawing to `file`. Titles may hold any character. O(points).
std::string gnuplot_script(const Plot& plot, const std::string& file);

} // namespace tessella
