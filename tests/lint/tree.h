// The source tree as the lint tests see it: files by ending, lines with their number, and a way to report a place.
// Paths are relative to the repository root, the working directory of every test. Results are sorted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessella::lint {

struct Line {
  std::string file;
  int number = 0; // from 1
  std::string text;
};

// All files under `folders` whose name has one of `endings` (all files when there are none). A folder that does not
// exist holds nothing; build folders are skipped.
std::vector<std::string> files_in(const std::vector<std::string>& folders,
                                  const std::vector<std::string>& endings = {});
std::vector<Line> lines_of(const std::string& file);
std::string text_of(const std::string& file);

// C++ and CUDA sources of the product.
std::vector<std::string> product_sources();

// Fails the running test with "file:line: message".
void report(const Line& line, const std::string& message);
void report(const std::string& file, const std::string& message);

// What stands between `open` and `close`, for each pair of them in order.
std::vector<std::string> between(std::string_view text, char open, char close);

} // namespace tessella::lint
