#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "sim/base/error.h"
#include "sim/store/results_db.h"
#include "sim/store/sweep_points.h"
#include "tests/support/temp_folder.h"

using namespace tessella;
using tessella::testing::TempFolder;

namespace {

ResultRow row(const std::string& key, double step_time) {
  ResultRow r{key, "sweep", "e.yaml", "0.1", "parallelism.pp=2\nrouting.kind=\"balanced\"", "ok", "", {}};
  r.numbers[0] = step_time;
  return r;
}

std::string refusal(const std::string& path, DbMode mode = DbMode::create) {
  try {
    const ResultsDb db(path, mode);
  } catch (const InputError& error) {
    return error.message();
  }
  return "accepted";
}

void execute(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

SweepSpec grid() {
  SweepSpec spec;
  spec.name = "s";
  spec.set = {"routing.kind=balanced"};
  spec.list = {{"batch.mbs=1"}, {"batch.mbs=2", "batch.seq=512"}};
  spec.grid = {{"parallelism.tp", {"1", "2", "4"}}, {"parallelism.pp", {"1", "8"}}};
  return spec;
}

} // namespace

TEST_CASE("Rows come back as they were, sorted by key, and a key keeps its first row") {
  const TempFolder folder;
  ResultsDb db(folder / "a.db", DbMode::create);
  ResultRow odd = row("a", 0.1);
  odd.reason = "line one\nline 'two', \"three\"";
  odd.numbers[5] = 1.0 / 3.0;
  db.insert(std::vector{row("b", 2.0), odd});
  db.insert(std::vector{row("b", 3.0)});
  CHECK(db.rows() == std::vector{odd, row("b", 2.0)});
  CHECK(db.keys() == std::unordered_set<std::string>{"a", "b"});
  CHECK(ResultsDb(folder / "a.db", DbMode::read).rows() == db.rows());
}

TEST_CASE("A file that is not ours, newer, damaged or missing is refused with the reason") {
  const TempFolder folder;
  CHECK(refusal(folder / "none.db", DbMode::read) == "no such file");
  folder.write("text.db", std::string(5000, 'x'));
  CHECK(refusal(folder / "text.db").find("not a results database") != std::string::npos);
  execute(folder / "other.db", "CREATE TABLE t(x)");
  CHECK(refusal(folder / "other.db") == "is an SQLite file of another program, not a results database of tessella");
  { ResultsDb db(folder / "new.db", DbMode::create); }
  execute(folder / "new.db", "PRAGMA user_version = 2");
  CHECK(refusal(folder / "new.db") == "was written by a newer tessella: schema 2, this program knows 1");
  {
    ResultsDb db(folder / "torn.db", DbMode::create);
    std::vector<ResultRow> rows;
    for (int i = 0; i < 500; ++i) rows.push_back(row(std::to_string(i), i));
    db.insert(rows);
  }
  std::fstream torn(folder / "torn.db", std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 2; page < 8; ++page) {
    torn.seekp(page * 4096);
    torn << std::string(100, '\xff');
  }
  torn.close();
  CHECK(refusal(folder / "torn.db").find("the database is damaged") != std::string::npos);
}

TEST_CASE("Merging adds what is missing, names what differs, and can be repeated") {
  const TempFolder folder;
  ResultsDb out(folder / "out.db", DbMode::create);
  ResultsDb in(folder / "in.db", DbMode::create);
  out.insert(std::vector{row("a", 1.0), row("c", 1.0)});
  in.insert(std::vector{row("a", 1.0), row("b", 1.0), row("c", 2.0)});
  const MergeReport first = merge_into(out, in);
  CHECK(first.added == 1);
  CHECK(first.same == 1);
  REQUIRE(first.conflicts.size() == 1);
  CHECK(first.conflicts[0].find("step_time_s 1 here, 2 there") != std::string::npos);
  CHECK(merge_into(out, in) == MergeReport{0, 2, first.conflicts});
  CHECK(out.rows() == std::vector{row("a", 1.0), row("b", 1.0), row("c", 1.0)});
}

TEST_CASE("A row is looked up by column, path and last part of a path") {
  const ResultRow r = row("a", 1.5);
  CHECK(lookup(r, "step_time_s") == ExprValue{1.5});
  CHECK(lookup(r, "mfu") == ExprValue{});
  CHECK(lookup(r, "status") == ExprValue{std::string("ok")});
  CHECK(lookup(r, "parallelism.pp") == ExprValue{2.0});
  CHECK(lookup(r, "pp") == ExprValue{2.0});
  CHECK(lookup(r, "kind") == ExprValue{std::string("balanced")});
  CHECK(lookup(r, "tp") == ExprValue{});
  CHECK(to_csv({r}).find("\na,ok,,2,\"\"\"balanced\"\"\",1.5,") != std::string::npos);
}

TEST_CASE("A grid is enumerated in file order, every combination once, less what a constraint excludes") {
  const SweepPoints points(grid());
  REQUIRE(points.size() == 12);
  CHECK(points.overrides(0) ==
        std::vector<std::string>{"routing.kind=balanced", "batch.mbs=1", "parallelism.tp=1", "parallelism.pp=1"});
  CHECK(points.overrides(11) == std::vector<std::string>{"routing.kind=balanced", "batch.mbs=2", "batch.seq=512",
                                                         "parallelism.tp=4", "parallelism.pp=8"});
  std::set<std::vector<std::string>> all;
  for (std::int64_t i = 0; i < points.size(); ++i) all.insert(points.overrides(i));
  CHECK(all.size() == 12);

  SweepSpec less = grid();
  less.constraints = {Expression::parse("tp * pp <= 8")};
  const SweepPoints kept(less);
  CHECK(kept.size() == 8); // tp 1 with pp 1 and 8, tp 2 and 4 with pp 1; twice
  CHECK(kept.excluded() == 4);
}

TEST_CASE("A latin hypercube visits every stratum of every axis once, and draws do not depend on the run") {
  SweepSpec spec = grid();
  spec.list.clear();
  spec.grid.push_back({"routing.static_sigma", {}, SweepRange{0.0, 1.0, false, false}});
  spec.grid.push_back({"simulation.seed", {}, SweepRange{1.0, 12.0, false, true}});
  spec.sample = SweepSample{SampleMethod::latin_hypercube, 12, 5};
  const SweepPoints points(spec);
  REQUIRE(points.size() == 12);
  std::map<std::string, int> times;
  std::set<int> strata;
  for (std::int64_t i = 0; i < 12; ++i) {
    const auto overrides = points.overrides(i);
    ++times[overrides[1]];
    ++times[overrides[4]];
    strata.insert(static_cast<int>(12.0 * std::get<double>(lookup_override(overrides, "static_sigma"))));
    CHECK(overrides == SweepPoints(spec).overrides(i));
  }
  CHECK(strata.size() == 12);
  CHECK(times["parallelism.tp=1"] == 4);
  CHECK(times["parallelism.tp=4"] == 4);
  for (int seed = 1; seed <= 12; ++seed) CHECK(times["simulation.seed=" + std::to_string(seed)] == 1);
}

TEST_CASE("Random points satisfy the constraints and are as many as asked for") {
  SweepSpec spec = grid();
  spec.constraints = {Expression::parse("tp * pp <= 8")};
  spec.sample = SweepSample{SampleMethod::random, 50, 1};
  const SweepPoints points(spec);
  CHECK(points.size() == 50);
  CHECK(points.excluded() > 0);
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const auto o = points.overrides(i);
    CHECK(std::get<double>(lookup_override(o, "tp")) * std::get<double>(lookup_override(o, "pp")) <= 8.0);
  }
}
