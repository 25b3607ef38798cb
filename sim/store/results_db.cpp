#include "sim/store/results_db.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>

#include "sim/base/error.h"

namespace tessella {
namespace {

constexpr std::int64_t kApplicationId = 0x54534c41; // "TSLA"
constexpr std::int64_t kSchema = 1;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  return Statement(statement);
}

std::string column_list() {
  std::string out;
  for (const std::string_view name : kResultTexts) out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  for (const std::string_view name : kResultNumbers) out += fmt::format(", {}", name);
  return out;
}

std::string create_sql() {
  std::string out = "CREATE TABLE IF NOT EXISTS results(key TEXT PRIMARY KEY";
  for (const std::string_view name : kResultTexts)
    if (name != "key") out += fmt::format(", {} TEXT NOT NULL", name);
  for (const std::string_view name : kResultNumbers) out += fmt::format(", {} REAL", name);
  return out + ") WITHOUT ROWID";
}

std::string insert_sql() {
  std::string marks;
  for (std::size_t i = 0; i < kResultTexts.size() + kResultNumbers.size(); ++i) marks += i == 0 ? "?" : ", ?";
  return fmt::format("INSERT OR IGNORE INTO results({}) VALUES({})", column_list(), marks);
}

int bind(sqlite3_stmt* statement, const ResultRow& row) {
  int column = 0;
  for (const std::string* text :
       {&row.key, &row.sweep, &row.experiment, &row.tool, &row.overrides, &row.status, &row.reason})
    sqlite3_bind_text(statement, ++column, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
  for (const auto& number : row.numbers)
    if (number)
      sqlite3_bind_double(statement, ++column, *number);
    else
      sqlite3_bind_null(statement, ++column);
  return sqlite3_step(statement);
}

ResultRow read_row(sqlite3_stmt* statement) {
  ResultRow row;
  int column = 0;
  for (std::string* text :
       {&row.key, &row.sweep, &row.experiment, &row.tool, &row.overrides, &row.status, &row.reason}) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    text->assign(bytes ? bytes : "", static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    ++column;
  }
  for (auto& number : row.numbers) {
    if (sqlite3_column_type(statement, column) != SQLITE_NULL) number = sqlite3_column_double(statement, column);
    ++column;
  }
  return row;
}

} // namespace

void ResultsDb::Close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

ResultsDb::~ResultsDb() = default;

void ResultsDb::fail(const char* doing) const {
  const int code = sqlite3_errcode(db_.get()) & 0xff;
  std::string what = sqlite3_errmsg(db_.get());
  if (code == SQLITE_NOTADB) what = "not a results database";
  if (code == SQLITE_CORRUPT) what = "the database is damaged: " + what;
  if (code == SQLITE_FULL || code == SQLITE_IOERR)
    what += "; what was committed is safe: make room on the disk and run again, it resumes";
  if (code == SQLITE_BUSY) what += "; another process holds it";
  throw InputError(path_, fmt::format("cannot {}: {}", doing, what));
}

void ResultsDb::run(const char* sql) const {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("use the database");
}

std::int64_t ResultsDb::pragma(const char* name) const {
  const Statement statement = prepare(db_.get(), fmt::format("PRAGMA {}", name));
  if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) fail("read the database");
  return sqlite3_column_int64(statement.get(), 0);
}

// A file of another program, or of a newer version, must not be touched.
void ResultsDb::check_owner(DbMode mode) const {
  const std::int64_t schema = pragma("user_version");
  const bool fresh =
      mode == DbMode::create && pragma("application_id") == 0 && schema == 0 && pragma("schema_version") == 0;
  if (fresh) return;
  if (pragma("application_id") != kApplicationId)
    throw InputError(path_, "is an SQLite file of another program, not a results database of tessella");
  if (schema > kSchema)
    throw InputError(path_,
                     fmt::format("was written by a newer tessella: schema {}, this program knows {}", schema, kSchema));
}

void ResultsDb::check_whole() const {
  const Statement statement = prepare(db_.get(), "PRAGMA quick_check(1)");
  if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) fail("check the database");
  const std::string answer = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  if (answer != "ok") // "*** in database main ***\nPage 2: ..."
    throw InputError(path_, "the database is damaged: " + answer.substr(answer.rfind('\n') + 1));
  if (!prepare(db_.get(), fmt::format("SELECT {} FROM results LIMIT 0", column_list()))) fail("find the results table");
}

ResultsDb::ResultsDb(const std::string& path, DbMode mode) : path_(path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (mode == DbMode::read && !exists) throw InputError(path, "no such file");
  if (mode == DbMode::read && std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path) == 0)
    throw InputError(path, "is empty");
  if (exists && !std::filesystem::is_regular_file(path, error)) throw InputError(path, "is not a regular file");
  sqlite3* db = nullptr;
  const int how = mode == DbMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int opened = sqlite3_open_v2(path.c_str(), &db, how, nullptr);
  db_.reset(db);
  if (opened != SQLITE_OK) fail("open the database");
  sqlite3_busy_timeout(db, 30'000);
  check_owner(mode);
  if (mode == DbMode::create) {
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    // Together, so that a kill leaves an empty file or a complete one.
    run(fmt::format("BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {}; {}; COMMIT", kApplicationId,
                    kSchema, create_sql())
            .c_str());
  }
  check_whole();
}

std::unordered_set<std::string> ResultsDb::keys() const {
  std::unordered_set<std::string> out;
  const Statement statement = prepare(db_.get(), "SELECT key FROM results");
  if (!statement) fail("read the database");
  int code = 0;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW)
    out.emplace(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0)));
  if (code != SQLITE_DONE) fail("read the database");
  return out;
}

std::vector<ResultRow> ResultsDb::rows() const {
  std::vector<ResultRow> out;
  const Statement statement = prepare(db_.get(), fmt::format("SELECT {} FROM results ORDER BY key", column_list()));
  if (!statement) fail("read the database");
  int code = 0;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) out.push_back(read_row(statement.get()));
  if (code != SQLITE_DONE) fail("read the database");
  return out;
}

void ResultsDb::insert(std::span<const ResultRow> rows) {
  if (rows.empty()) return;
  const Statement statement = prepare(db_.get(), insert_sql());
  if (!statement) fail("write to the database");
  run("BEGIN IMMEDIATE");
  for (const ResultRow& row : rows) {
    if (bind(statement.get(), row) != SQLITE_DONE) fail("write to the database");
    sqlite3_reset(statement.get());
  }
  if (sqlite3_exec(db_.get(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) fail("write to the database");
}

namespace {

std::string differences(const ResultRow& a, const ResultRow& b) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& x, const std::string& y) {
    if (x != y) out += fmt::format("{}{} {} here, {} there", out.empty() ? "" : "; ", name, x, y);
  };
  add("status", a.status, b.status);
  add("reason", a.reason, b.reason);
  for (std::size_t i = 0; i < kResultNumbers.size(); ++i) {
    const auto text = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : std::string("nothing"); };
    add(kResultNumbers[i], text(a.numbers[i]), text(b.numbers[i]));
  }
  return out;
}

} // namespace

MergeReport merge_into(ResultsDb& out, const ResultsDb& in) {
  MergeReport report;
  const std::vector<ResultRow> mine = out.rows();
  std::vector<ResultRow> added;
  auto at = mine.begin(); // both lists are sorted by key
  for (ResultRow& row : in.rows()) {
    while (at != mine.end() && at->key < row.key) ++at;
    if (at == mine.end() || at->key != row.key) {
      added.push_back(std::move(row));
      continue;
    }
    const std::string what = differences(*at, row);
    if (what.empty())
      ++report.same;
    else
      report.conflicts.push_back(fmt::format("{} ({}): {}", row.key.substr(0, 12), row.overrides, what));
  }
  out.insert(added);
  report.added = static_cast<std::int64_t>(added.size());
  return report;
}

} // namespace tessella
