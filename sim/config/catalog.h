// Names in an experiment and the files they stand for:
//   model NAME     models/NAME.yaml
//   topology NAME  topologies/NAME.yaml
//   profile NAME   calib/profiles/NAME/profile.yaml      (NAME may hold slashes: h100_sxm/2026-11-29-published)
// below a home directory: the one given (or the environment's TESSELLA_HOME), then the directory that asks and each of
// its parents, then the current one. The first file wins. A reference that ends in .yaml or .yml is a path relative to
// the directory that asks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.h"

namespace tessella {

enum class Catalog { model, topology, profile };

// Where names are looked up, in order.
using SearchPath = std::vector<std::filesystem::path>;
SearchPath search_path(const std::filesystem::path& from_directory,
                       const std::optional<std::filesystem::path>& home = std::nullopt);

// The file of a reference made by a file in `from_directory`. Throws InputError at `where` with the nearest name when
// there is none; that a path exists is left to the reader of the file.
std::filesystem::path resolve(Catalog catalog, const std::string& reference,
                              const std::filesystem::path& from_directory, const SearchPath& path,
                              const SourceSpan& where);

// All names that resolve, sorted, each once.
std::vector<std::string> available(Catalog catalog, const SearchPath& path);

} // namespace tessella
