// Leftovers and size: no unfinished marks, no paths of one machine, no file that wants to be two, no test or source
// file that the build has forgotten, no library code that ends the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/lint/tree.h"

using namespace tessella::lint;

namespace {

constexpr int kMaxLines = 400;
constexpr int kWarnLines = 300;

const std::vector<std::string> kFolders = {"sim",        "calib",       "tests", "models",
                                           "topologies", "experiments", ".ci",   ".github"};
const std::vector<std::string> kTextFiles = {".h",   ".cpp", ".cu",   ".cuh", ".md",   ".yaml",
                                             ".yml", ".txt", ".json", ".csv", ".build"};

std::vector<std::string> text_files() {
  std::vector<std::string> files = files_in(kFolders, kTextFiles);
  for (const char* file : {"README.md", "dev", "meson.build", ".ci/run"})
    if (std::filesystem::exists(file)) files.emplace_back(file);
  return files;
}

bool is_word_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

// Every 'x.cpp' that a meson.build names, as a path from the root.
std::set<std::string> built_files() {
  namespace fs = std::filesystem;
  std::set<std::string> files;
  for (const std::string& build : files_in({"sim", "calib", "tests"}, {"meson.build"}))
    for (const std::string& name : between(text_of(build), '\'', '\''))
      files.insert((fs::path(build).parent_path() / name).lexically_normal().string());
  return files;
}

} // namespace

TEST_CASE("Nothing is left unfinished") {
  // Spelled in two halves, so that this file passes its own test.
  const std::vector<std::string> marks = {"TO"
                                          "DO",
                                          "FIX"
                                          "ME",
                                          "X"
                                          "XX",
                                          "HA"
                                          "CK"};
  for (const std::string& file : text_files())
    for (const Line& line : lines_of(file))
      for (const std::string& mark : marks)
        if (has_word(line.text, mark)) report(line, "unfinished: " + mark);
}

TEST_CASE("No path of one machine is written down") {
  const std::vector<std::string> paths = {"/wo"
                                          "rk/",
                                          "/fa"
                                          "rm/",
                                          "/ho"
                                          "me/",
                                          "/ro"
                                          "ot/"};
  for (const std::string& file : text_files())
    for (const Line& line : lines_of(file))
      for (const std::string& path : paths)
        if (line.text.find(path) != std::string::npos) report(line, "a path of one machine: " + path);
}

TEST_CASE("No source file is longer than 400 lines") {
  for (const std::string& file : files_in({"sim", "calib", "tests"}, {".h", ".cpp", ".cu", ".cuh"})) {
    const int lines = static_cast<int>(lines_of(file).size());
    if (lines > kMaxLines) report(file, std::to_string(lines) + " lines; split it");
    if (lines > kWarnLines) MESSAGE(file << ": " << lines << " lines, more than " << kWarnLines);
  }
}

TEST_CASE("Every source file is built, and every test runs") {
  const std::set<std::string> built = built_files();
  for (const std::string& file : files_in({"sim", "calib", "tests"}, {".cpp", ".cu"}))
    if (!built.contains(file)) report(file, "no meson.build names it");
}

TEST_CASE("Libraries throw; only the command line ends the program") {
  for (const std::string& file : product_sources()) {
    if (file.starts_with("sim/cli/") || file.starts_with("calib/cli/") || file.ends_with("main.cpp")) continue;
    for (const Line& line : lines_of(file))
      for (const char* call : {"exit", "_exit", "quick_exit", "abort"})
        if (has_word(line.text, call) && line.text.find(std::string(call) + "(") != std::string::npos)
          report(line, std::string("calls ") + call);
  }
}

TEST_CASE("Every layer with code has unit tests") {
  std::vector<std::string> layers;
  for (const std::string& file : files_in({"sim"}, {".cpp"})) {
    const std::string layer = file.substr(4, file.find('/', 4) - 4);
    if (layers.empty() || layers.back() != layer) layers.push_back(layer);
  }
  for (const std::string& layer : layers) {
    if (layer == "cli") continue; // wiring: the goldens run the program itself
    if (files_in({"tests/unit/" + layer}, {"_test.cpp"}).empty()) report("tests/unit/" + layer, "holds no test");
  }
}

TEST_CASE("Every experiment says what it asks and stands in the index") {
  const std::string index = text_of("experiments/README.md");
  for (const std::string& file : files_in({"experiments"}, {"/experiment.yaml"})) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    const std::string name = std::filesystem::path(folder).filename().string();
    if (!std::filesystem::exists(folder + "/README.md")) report(folder, "has no README.md");
    if (index.find("`" + name + "`") == std::string::npos) report(folder, "has no row in experiments/README.md");
  }
}
