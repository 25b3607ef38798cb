// raw.csv: one line per measured (op, shape, temperature), appended as soon as it is known, so that an interrupted run
// loses nothing and resumes. Columns are documented in calib/README.md; units are in their names.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "calib/protocol/measure.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

// What became of a case. All but `ok` leave median and the rest at 0 and say why in `note`; `unsupported`: this
// machine's libraries have no such kernel, another one was measured in its place.
enum class RowStatus { ok, wrong_result, out_of_memory, throttled, failed, unsupported };
const char* name(RowStatus s);

struct RawRow {
  OpShape shape;
  Measurement measurement;
  Work work;
  RowStatus status = RowStatus::ok;
  std::string note;
};

using RowKey = std::tuple<OpShape, Temperature>;

class RawTable {
 public:
  // Opens for appending; what an earlier run left is read first, a half-written last line is cut off and counted.
  // Throws InputError when the file is not such a table or cannot be written.
  explicit RawTable(const std::string& path);
  ~RawTable();
  RawTable(const RawTable&) = delete;
  RawTable& operator=(const RawTable&) = delete;

  // Written through to the file at once. Throws InputError naming the reason ("no space left on device").
  void append(const RawRow& row);

  // Measured, or failed for good; what was only throttled may be tried again.
  bool has(const OpShape& shape, Temperature t) const { return known_.contains({shape, t}); }
  const std::vector<RawRow>& rows() const { return rows_; }
  bool cut_partial_line() const { return cut_; }

 private:
  void remember(const RawRow& row);

  std::string path_;
  int file_ = 0;
  bool cut_ = false;
  std::vector<RawRow> rows_;
  std::set<RowKey> known_;
};

// Rows of a finished table. Throws InputError with line and column name.
std::vector<RawRow> read_raw(const std::string& path);
std::string raw_header();
std::string to_csv(const RawRow& row); // with line end

} // namespace tessella::calib
