// Results of many scenarios in one SQLite file. Schema version 1 (PRAGMA user_version; application_id 0x54534c41):
//
//   CREATE TABLE results(
//     key TEXT PRIMARY KEY,      -- SHA-256 of what the answer depends on, lower-case hexadecimal
//     sweep TEXT NOT NULL,       -- name of the sweep
//     experiment TEXT NOT NULL,  -- path as given
//     tool TEXT NOT NULL,        -- version of tessella
//     overrides TEXT NOT NULL,   -- "a.b=v", one a line, later ones win
//     status TEXT NOT NULL,      -- ok, does_not_fit, illegal, not_covered, error
//     reason TEXT NOT NULL,      -- why not ok; empty when ok
//     ...                        -- one REAL column per name of kResultNumbers (result_row.h), NULL when there is none
//   ) WITHOUT ROWID;
//
// A row is written once and never changed: equal sweeps give equal tables, whoever computed which row. WAL mode: a
// killed writer leaves whole transactions only (next to FILE, FILE-wal belongs to it: copy both, or open it once).
// Several processes may write to one file. Errors: InputError naming the file: no database, one of another program,
// corrupt, newer than this program, or the system's reason (disk full) with what to do.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/store/result_row.h"

struct sqlite3;

namespace tessella {

enum class DbMode { create, read };

class ResultsDb {
 public:
  // Checks the whole file once. O(rows).
  ResultsDb(const std::string& path, DbMode mode);
  ~ResultsDb();
  ResultsDb(const ResultsDb&) = delete;
  ResultsDb& operator=(const ResultsDb&) = delete;

  const std::string& path() const { return path_; }
  // Membership only; its order reaches no output.
  std::unordered_set<std::string> keys() const;
  // All rows, by key. O(rows).
  std::vector<ResultRow> rows() const;
  // One transaction: all or none. A key that is there already keeps its row.
  void insert(std::span<const ResultRow> rows);

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  [[noreturn]] void fail(const char* doing) const;
  void run(const char* sql) const;
  std::int64_t pragma(const char* name) const;
  void check_owner(DbMode mode) const;
  void check_whole() const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
};

struct MergeReport {
  std::int64_t added = 0;
  std::int64_t same = 0;
  std::vector<std::string> conflicts; // same key, another answer: what differs; the row of `out` stays
  bool operator==(const MergeReport&) const = default;
};

// Adds the rows of `in` that `out` lacks. Merging twice changes nothing. O(rows).
MergeReport merge_into(ResultsDb& out, const ResultsDb& in);

} // namespace tessella
