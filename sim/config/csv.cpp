#include "sim/config/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"

namespace tessella {
namespace {

class Scanner {
 public:
  explicit Scanner(const Source& source) : source_(source), text_(source.text()) {}

  bool done() const { return at_ >= text_.size(); }

  CsvRow row() {
    CsvRow row{line_, {}};
    while (true) {
      row.fields.push_back(field());
      if (done()) return row;
      const char end = text_[at_++];
      if (end == ',') continue;
      if (end == '\r' && !done() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

 private:
  std::string field() {
    if (!done() && text_[at_] == '"') return quoted();
    const std::size_t from = at_;
    while (!done() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return text_.substr(from, at_ - from);
  }

  std::string quoted() {
    const int opened = line_;
    std::string value;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        value += text_[at_];
        continue;
      }
      ++at_;
      if (done() || text_[at_] != '"') return value;
      value += '"';
    }
    throw InputError(csv_line(source_, opened), "a quoted field is not closed");
  }

  const Source& source_;
  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

} // namespace

SourceSpan csv_line(const Source& source, int line) {
  return {source.name(), line, 1, 0, {}};
}

CsvTable read_csv(const Source& source) {
  Scanner scan(source);
  CsvTable table;
  if (!scan.done()) table.columns = scan.row().fields;
  if (table.columns.size() < 2) throw InputError(csv_line(source, 1), "no header of column names separated by commas");
  std::vector<std::string> sorted = table.columns;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw InputError(csv_line(source, 1), fmt::format("column '{}' is there twice", *twice));
  while (!scan.done()) {
    CsvRow row = scan.row();
    if (row.fields.size() == 1 && row.fields.front().empty()) continue;
    if (row.fields.size() != table.columns.size())
      throw InputError(csv_line(source, row.line), fmt::format("{} fields, but the header names {} columns",
                                                               row.fields.size(), table.columns.size()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

} // namespace tessella
