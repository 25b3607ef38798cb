// Reads a table of measurements: CSV, plain or gzip, with quoted fields. Every complaint names file and row, because a
// wrong number in a calibration is worse than a missing one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessella::calib {

// The text of a file, plain or gzip. Throws InputError: with `when_missing`, or that the file is damaged.
std::string read_plain_or_gzip(const std::string& path, const std::string& when_missing = "cannot open");

class Table {
 public:
  // Throws InputError when the file is missing, empty, or a row has another number of fields than the header.
  static Table read(const std::string& path);
  static Table parse(const std::string& name, const std::string& text);

  std::size_t rows() const { return cells_.size(); }
  bool has(const std::string& column) const;
  // All throw InputError naming the row and column; a missing column lists the nearest name.
  const std::string& text(std::size_t row, const std::string& column) const;
  double number(std::size_t row, const std::string& column) const;                        // any finite number
  double positive(std::size_t row, const std::string& column) const;                      // > 0
  std::optional<double> maybe_positive(std::size_t row, const std::string& column) const; // blank: nothing
  std::int64_t whole(std::size_t row, const std::string& column) const;                   // > 0, no fraction

  // For complaints of the caller about a row.
  [[noreturn]] void fail(std::size_t row, const std::string& column, const std::string& message) const;
  const std::string& name() const { return name_; }

 private:
  std::size_t column(const std::string& name) const;

  std::string name_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<int> lines_;         // line of each row in the file
  std::vector<std::string> texts_; // the whole line, for the message
};

} // namespace tessella::calib
