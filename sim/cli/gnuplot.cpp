#include "sim/cli/gnuplot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

namespace tessella {

bool draw(const Plot& plot, const std::string& file) {
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) return false;
  const std::filesystem::path drawn =
      std::filesystem::temp_directory_path() / fmt::format("tessella-{}.svg", ::getpid());
  FILE* pipe = popen("gnuplot >/dev/null 2>&1", "w");
  if (pipe == nullptr) throw InputError(file, "cannot start gnuplot");
  fmt::print(pipe, "{}", gnuplot_script(plot, drawn.string()));
  const bool good = pclose(pipe) == 0;
  std::ifstream in(drawn, std::ios::binary);
  const std::string svg{std::istreambuf_iterator<char>(in), {}};
  std::error_code ignored;
  std::filesystem::remove(drawn, ignored);
  if (!good || svg.empty()) throw InputError(file, "gnuplot could not draw the plot");
  write_file(file, svg);
  return true;
}

} // namespace tessella
