// Layers: every #include in sim/ and calib/ is one that the table in sim/README.md allows, runs from the repository
// root and names a file that exists; a third-party header appears only where the table lists its library.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/lint/tree.h"

using namespace tessella::lint;

namespace {

struct Layer {
  std::string folder;                    // "sim/base"
  std::vector<std::string> may_include;  // layers, or single headers of one
  std::map<std::string, bool> libraries; // -> allowed in .cpp files only
};

std::vector<std::string> split(const std::string& row, char by) {
  std::vector<std::string> cells;
  std::size_t from = 0;
  for (std::size_t at; (at = row.find(by, from)) != std::string::npos; from = at + 1)
    cells.push_back(row.substr(from, at - from));
  cells.push_back(row.substr(from));
  return cells;
}

// Rows "| `folder` | holds | `layer`, ... | `library` (in .cpp), ... |".
std::vector<Layer> layer_table() {
  std::vector<Layer> table;
  for (const Line& line : lines_of("sim/README.md")) {
    if (!line.text.starts_with("| `sim/") && !line.text.starts_with("| `calib`")) continue;
    const std::vector<std::string> cells = split(line.text, '|'); // the first and the last are empty
    REQUIRE_MESSAGE(cells.size() == 6, line.text);
    Layer layer{between(cells[1], '`', '`').at(0), between(cells[3], '`', '`'), {}};
    for (const std::string& library : split(cells[4], ','))
      for (const std::string& name : between(library, '`', '`'))
        layer.libraries[name] = library.find("in .cpp") != std::string::npos;
    table.push_back(std::move(layer));
  }
  return table;
}

// The library a <header> belongs to; nothing for the standard library and the system.
std::optional<std::string> library_of(const std::string& header) {
  static const std::vector<std::pair<std::string, std::string>> prefixes = {{"fmt/", "fmt"},
                                                                            {"yaml-cpp/", "yaml-cpp"},
                                                                            {"nlohmann/", "nlohmann-json"},
                                                                            {"Eigen/", "Eigen"},
                                                                            {"boost/", "Boost"},
                                                                            {"CLI/", "CLI11"},
                                                                            {"sqlite3.h", "SQLite"},
                                                                            {"zlib.h", "zlib"},
                                                                            {"coin/", "CBC"},
                                                                            {"Cbc", "CBC"},
                                                                            {"Osi", "CBC"},
                                                                            {"Coin", "CBC"},
                                                                            {"cuda", "CUDA"},
                                                                            {"cublas", "CUDA"},
                                                                            {"nvml.h", "CUDA"},
                                                                            {"nccl.h", "NCCL"},
                                                                            {"mpi.h", "MPI"},
                                                                            {"doctest/", "doctest"},
                                                                            {"benchmark/", "Google Benchmark"},
                                                                            {"rapidcheck", "RapidCheck"},
                                                                            {"simgrid/", "SimGrid"}};
  for (const auto& [prefix, library] : prefixes)
    if (header.starts_with(prefix)) return library;
  return std::nullopt;
}

bool includes(const Line& line) {
  return line.text.starts_with("#include ");
}

const Layer* layer_of(const std::vector<Layer>& table, const std::string& file) {
  for (const Layer& layer : table)
    if (file.starts_with(layer.folder + "/")) return &layer;
  return nullptr;
}

bool allowed(const Layer& layer, const std::string& header) {
  if (header.starts_with(layer.folder + "/")) return true;
  return std::any_of(layer.may_include.begin(), layer.may_include.end(),
                     [&](const std::string& entry) { return header == entry || header.starts_with(entry + "/"); });
}

void check_library(const Layer& layer, const Line& line, const std::string& header) {
  const std::optional<std::string> library = library_of(header);
  if (!library || *library == "fmt") return; // fmt comes with sim/base
  const auto entry = layer.libraries.find(*library);
  if (entry == layer.libraries.end())
    report(line, layer.folder + " may not use " + *library);
  else if (entry->second && line.file.ends_with(".h"))
    report(line, layer.folder + " may use " + *library + " in .cpp files only");
}

} // namespace

TEST_CASE("Every folder of the product has a row in the layer table, and every row a folder") {
  const std::vector<Layer> table = layer_table();
  CHECK(table.size() >= 15);
  for (const std::string& file : product_sources())
    if (!layer_of(table, file)) report(file, "its folder has no row in the layer table of sim/README.md");
  for (const Layer& layer : table) CHECK_MESSAGE(std::filesystem::is_directory(layer.folder), layer.folder);
}

TEST_CASE("The layer table has no cycle, but for headers named one by one") {
  // Rows stand in an order in which every layer comes after those it includes.
  std::vector<std::string> seen;
  for (const Layer& layer : layer_table()) {
    for (const std::string& entry : layer.may_include) {
      if (entry.ends_with(".h") || entry == "sim") continue;
      CHECK_MESSAGE(std::find(seen.begin(), seen.end(), entry) != seen.end(), layer.folder, " before ", entry);
    }
    seen.push_back(layer.folder);
  }
}

TEST_CASE("Every include is one the layer table allows") {
  const std::vector<Layer> table = layer_table();
  for (const std::string& file : product_sources()) {
    const Layer* layer = layer_of(table, file);
    if (!layer) continue;
    for (const Line& line : lines_of(file)) {
      if (!includes(line)) continue;
      for (const std::string& header : between(line.text, '"', '"'))
        if (!allowed(*layer, header)) report(line, layer->folder + " may not include " + header);
      for (const std::string& header : between(line.text, '<', '>')) check_library(*layer, line, header);
    }
  }
}

TEST_CASE("Includes run from the repository root and name files that exist") {
  for (const std::string& file : files_in({"sim", "calib", "tests"}, {".h", ".cpp", ".cu", ".cuh"}))
    for (const Line& line : lines_of(file)) {
      if (!includes(line)) continue;
      for (const std::string& header : between(line.text, '"', '"'))
        if (!std::filesystem::is_regular_file(header)) report(line, "no such file from the root: " + header);
    }
}
