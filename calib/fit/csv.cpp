#include "calib/fit/csv.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "sim/base/error.h"
#include "sim/base/nearest.h"

namespace tessella::calib {
namespace {

// Splits one line; doubled quotes inside a quoted field are one quote.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<double> parse_number(const std::string& s) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

} // namespace

std::string read_plain_or_gzip(const std::string& path, const std::string& when_missing) {
  gzFile file = gzopen(path.c_str(), "rb"); // reads plain files as they are
  if (file == nullptr) throw InputError(path, when_missing);
  std::string text;
  char buffer[1 << 16];
  int n = 0;
  while ((n = gzread(file, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(n));
  if (gzclose(file) != Z_OK || n < 0) throw InputError(path, "damaged or truncated gzip file");
  return text;
}

Table Table::read(const std::string& path) {
  return parse(path, read_plain_or_gzip(path, "cannot open; is --data the folder of the raw tables?"));
}

Table Table::parse(const std::string& name, const std::string& text) {
  Table t;
  t.name_ = name;
  int line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::vector<std::string> fields = split(line);
    if (t.header_.empty()) {
      t.header_ = std::move(fields);
      continue;
    }
    if (fields.size() != t.header_.size()) {
      throw InputError({name, line_number, 1, static_cast<int>(line.size()), line},
                       fmt::format("{} fields where the header has {}", fields.size(), t.header_.size()));
    }
    t.cells_.push_back(std::move(fields));
    t.lines_.push_back(line_number);
    t.texts_.push_back(std::move(line));
  }
  if (t.header_.empty()) throw InputError(name, "empty table");
  return t;
}

bool Table::has(const std::string& column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

std::size_t Table::column(const std::string& name) const {
  const auto it = std::find(header_.begin(), header_.end(), name);
  if (it == header_.end()) {
    throw InputError(name_, fmt::format("no column '{}'{}", name, did_you_mean(name, header_)));
  }
  return static_cast<std::size_t>(it - header_.begin());
}

const std::string& Table::text(std::size_t row, const std::string& column_name) const {
  return cells_.at(row)[column(column_name)];
}

void Table::fail(std::size_t row, const std::string& column_name, const std::string& message) const {
  throw InputError({name_, lines_.at(row), 1, 0, texts_[row]}, fmt::format("{}: {}", column_name, message));
}

double Table::number(std::size_t row, const std::string& column_name) const {
  const std::string& s = text(row, column_name);
  const auto value = parse_number(s);
  if (!value) fail(row, column_name, s.empty() ? "is blank" : fmt::format("'{}' is not a number", s));
  return *value;
}

double Table::positive(std::size_t row, const std::string& column_name) const {
  const double value = number(row, column_name);
  if (value <= 0.0) fail(row, column_name, fmt::format("{} is not positive", value));
  return value;
}

std::optional<double> Table::maybe_positive(std::size_t row, const std::string& column_name) const {
  if (text(row, column_name).empty()) return std::nullopt;
  return positive(row, column_name);
}

std::int64_t Table::whole(std::size_t row, const std::string& column_name) const {
  const double value = positive(row, column_name);
  if (value != std::floor(value)) fail(row, column_name, fmt::format("{} is not a whole number", value));
  return static_cast<std::int64_t>(value);
}

} // namespace tessella::calib
