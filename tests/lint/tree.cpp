#include "tests/lint/tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tessella::lint {

namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::vector<std::string>& folders, const std::vector<std::string>& endings) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator(); ++it) {
      const std::string path = it->path().lexically_normal().string();
      if (it->is_directory() && it->path().filename().string().starts_with("build")) it.disable_recursion_pending();
      const auto ends = [&](const std::string& ending) { return path.ends_with(ending); };
      if (it->is_regular_file() && (endings.empty() || std::any_of(endings.begin(), endings.end(), ends)))
        files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Line> lines_of(const std::string& file) {
  std::vector<Line> lines;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) lines.push_back({file, static_cast<int>(lines.size()) + 1, text});
  return lines;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> product_sources() {
  return files_in({"sim", "calib"}, {".h", ".cpp", ".cu", ".cuh"});
}

void report(const Line& line, const std::string& message) {
  FAIL_CHECK(line.file, ":", line.number, ": ", message);
}

void report(const std::string& file, const std::string& message) {
  FAIL_CHECK(file, ": ", message);
}

std::vector<std::string> between(std::string_view text, char open, char close) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at)) {
    const std::size_t end = text.find(close, at + 1);
    if (end == std::string_view::npos) break;
    found.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

} // namespace tessella::lint
