#include "sim/report/plot.h"

#include <fmt/format.h>

#include "sim/report/format.h"

namespace tessella {
namespace {

// In single quotes gnuplot knows one special character: the quote, which is doubled.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string block(const char* name, std::span<const std::pair<double, double>> points) {
  std::string out = fmt::format("${} << EOD\n", name);
  for (const auto& [x, y] : points) out += fmt::format("{} {}\n", x, y);
  return out + "EOD\n";
}

} // namespace

std::string gnuplot_script(const Plot& plot, const std::string& file) {
  std::string out = fmt::format("set terminal svg size 960,540 font 'sans-serif,12' background '#ffffff'\n"
                                "set output {}\nset title {} noenhanced\nset xlabel {} noenhanced\n"
                                "set ylabel {} noenhanced\nset grid\nset key outside bottom center horizontal\n",
                                quoted(file), quoted(plot.title), quoted(plot.x_label), quoted(plot.y_label));
  if (plot.log_x) out += "set logscale x 2\nset format x '%.0f'\n";
  out += "set yrange [0:*]\n";
  out += block("all", plot.points) + block("best", plot.line);
  return out + fmt::format("plot $all using 1:2 with points pt 7 ps 0.4 lc '#9bb4d0' title {} noenhanced, "
                           "$best using 1:2 with linespoints pt 7 ps 0.8 lw 2 lc '#b5472f' title {} noenhanced\n",
                           quoted(plot.all), quoted(plot.best));
}

} // namespace tessella
