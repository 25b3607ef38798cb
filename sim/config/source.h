// The text of one input, and positions in it. A source is a file, or the value of a command-line flag such as
// `--set batch.gbs=64`, whose positions have no line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/config/input_limits.h"

namespace tessella {

class Source {
 public:
  static Source file(std::string name, std::string text);
  static Source flag(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  bool is_flag() const { return !has_lines_; }
  // The `length` bytes at byte `offset`, cut at the end of the line. Columns count characters (UTF-8 code points), so
  // that the caret stands under its letter. Offsets past the end mean the end. O(log lines).
  SourceSpan span(std::size_t offset, std::size_t length) const;

 private:
  Source(std::string name, std::string text, bool has_lines);

  std::string name_;
  std::string text_;
  bool has_lines_;
  std::vector<std::size_t> line_starts_;
};

// The bytes of a regular file of at most `max_bytes`. Anything else (missing, a directory, a device, too large) is an
// InputError at `path`.
std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes = kMaxFileBytes);

// How a path is shown: relative to the current directory when it lies below it.
std::string display_path(const std::filesystem::path& path);

// Rejects what is too large or not plain UTF-8 text, tabs in indentation, and YAML directives, each with its position.
void check_text(const Source& source);

} // namespace tessella
