// What a user sees for each kind of bad input, byte for byte. One folder per case under tests/golden/errors:
//   experiment.yaml (model.yaml, topology.yaml, profile.yaml)  the input; overrides.txt: one --set per line
//   expected.txt                                               format_error() of the InputError
// Names resolve in tests/golden/errors/library.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "tests/support/golden.h"

namespace {

namespace fs = std::filesystem;
using namespace tessella;

const fs::path kRoot = "tests/golden/errors";

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

LoadOptions options_of(const fs::path& folder) {
  LoadOptions options;
  options.home = kRoot / "library";
  options.schedules = {"gpipe", "1f1b", "interleaved_1f1b"};
  std::istringstream lines(slurp(folder / "overrides.txt"));
  for (std::string line; std::getline(lines, line);) options.overrides.push_back(line);
  return options;
}

std::string message_of(const fs::path& folder) {
  try {
    if (fs::exists(folder / "model.yaml"))
      load_model(folder / "model.yaml");
    else if (fs::exists(folder / "topology.yaml"))
      load_topology(folder / "topology.yaml");
    else if (fs::exists(folder / "profile.yaml"))
      load_profile(folder / "profile.yaml");
    else
      load_scenario(folder / "experiment.yaml", options_of(folder));
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "no error\n";
}

std::vector<fs::path> cases() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kRoot))
    if (entry.is_directory() && entry.path().filename() != "library") folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

} // namespace

TEST_CASE("every bad input gets its message") {
  CHECK(cases().size() >= 45);
  for (const fs::path& folder : cases()) {
    INFO(folder.string());
    const std::string actual = message_of(folder);
    CHECK(actual != "no error\n");
    testing::check_golden((folder / "expected.txt").string(), actual);
  }
}
