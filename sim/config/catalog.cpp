#include "sim/config/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "sim/config/message.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

namespace fs = std::filesystem;

struct Shelf {
  const char* what;
  const char* folder;
  const char* suffix; // after the name
};

const Shelf& shelf(Catalog catalog) {
  static constexpr Shelf kShelves[] = {{"model", "models", ".yaml"},
                                       {"topology", "topologies", ".yaml"},
                                       {"profile", "calib/profiles", "/profile.yaml"}};
  return kShelves[static_cast<std::size_t>(catalog)];
}

// A name stays below its folder: no empty, "." or ".." parts.
bool is_name(const std::string& reference) {
  const fs::path path(reference);
  return path.is_relative() && path.has_filename() && path.lexically_normal() == path &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".." || part == "."; });
}

// Adds the names below one folder. Profiles nest, so the walk is recursive; a folder that cannot be read has none.
void add_names(const fs::path& folder, const std::string& suffix, std::set<std::string>& names) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it.depth() > 4) it.disable_recursion_pending();
    const std::string relative = it->path().lexically_relative(folder).generic_string();
    if (relative.size() > suffix.size() && relative.ends_with(suffix))
      names.insert(relative.substr(0, relative.size() - suffix.size()));
  }
}

} // namespace

SearchPath search_path(const fs::path& from_directory, const std::optional<fs::path>& home) {
  SearchPath out;
  const char* variable = std::getenv("TESSELLA_HOME");
  if (home)
    out.push_back(*home);
  else if (variable && *variable)
    out.emplace_back(variable);
  std::error_code error;
  fs::path directory = fs::absolute(from_directory, error).lexically_normal();
  for (;; directory = directory.parent_path()) {
    out.push_back(directory);
    if (directory == directory.parent_path()) break;
  }
  out.push_back(fs::current_path(error));
  return out;
}

fs::path resolve(Catalog catalog, const std::string& reference, const fs::path& from_directory, const SearchPath& path,
                 const SourceSpan& where) {
  const Shelf& s = shelf(catalog);
  if (reference.ends_with(".yaml") || reference.ends_with(".yml")) return from_directory / reference;
  if (!is_name(reference))
    throw InputError(
        where, fmt::format("{} is neither the name of a {} nor a path to a .yaml file", in_quotes(reference), s.what));
  std::error_code error;
  for (const fs::path& home : path) {
    const fs::path file = home / s.folder / (reference + s.suffix);
    if (fs::exists(file, error)) return file;
  }
  const std::vector<std::string> names = available(catalog, path);
  std::string hint;
  if (const auto meant = nearest_word(reference, names))
    hint = fmt::format("; did you mean '{}'?", *meant);
  else if (!names.empty())
    hint = fmt::format("; known are {}", comma_list(names));
  throw InputError(where, fmt::format("unknown {} {}{}", s.what, in_quotes(reference), hint),
                   {{std::nullopt, fmt::format("looked for {}/{}{}", s.folder, reference, s.suffix)}});
}

std::vector<std::string> available(Catalog catalog, const SearchPath& path) {
  std::set<std::string> names;
  for (const fs::path& home : path) add_names(home / shelf(catalog).folder, shelf(catalog).suffix, names);
  return {names.begin(), names.end()};
}

} // namespace tessella
