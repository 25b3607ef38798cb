// Every complaint about a table names the file, the line and the column.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "calib/fit/csv.h"
#include "calib/fit/recipe.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

std::string complaint(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& e) {
    return format_error(e);
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a table is read with quotes, blanks and carriage returns") {
  const Table t = Table::parse("t.csv", "name,time_ms,m\r\n\"a, \"\"b\"\"\",1.5,64\n\nc,,128\n");
  REQUIRE(t.rows() == 2);
  CHECK(t.text(0, "name") == "a, \"b\"");
  CHECK(t.positive(0, "time_ms") == 1.5);
  CHECK(t.whole(1, "m") == 128);
  CHECK(!t.maybe_positive(1, "time_ms").has_value());
  CHECK(t.has("m"));
  CHECK(!t.has("n"));
}

TEST_CASE("bad cells are refused with their place") {
  const Table t = Table::parse("t.csv", "time_ms,m\n1,64\n-2,x\n0,1.5\n,\n1e999,nan\n");
  CHECK(contains(complaint([&] { (void)t.positive(1, "time_ms"); }), "t.csv:3:1: error: time_ms: -2 is not positive"));
  CHECK(contains(complaint([&] { (void)t.positive(2, "time_ms"); }), "t.csv:4:1: error: time_ms: 0 is not positive"));
  CHECK(contains(complaint([&] { (void)t.number(1, "m"); }), "m: 'x' is not a number"));
  CHECK(contains(complaint([&] { (void)t.whole(2, "m"); }), "m: 1.5 is not a whole number"));
  CHECK(contains(complaint([&] { (void)t.number(3, "m"); }), "m: is blank"));
  CHECK(contains(complaint([&] { (void)t.number(4, "time_ms"); }), "'1e999' is not a number"));
  CHECK(contains(complaint([&] { (void)t.number(4, "m"); }), "'nan' is not a number"));
}

TEST_CASE("a missing column suggests the nearest") {
  const Table t = Table::parse("t.csv", "latency_ms\n1\n");
  CHECK(contains(complaint([&] { (void)t.number(0, "latency_us"); }),
                 "no column 'latency_us'; did you mean 'latency_ms'?"));
}

TEST_CASE("damaged files are refused") {
  CHECK(contains(complaint([] { Table::parse("t.csv", "a,b\n1,2\n1\n"); }),
                 "t.csv:3:1: error: 1 fields where the header has 2"));
  CHECK(contains(complaint([] { Table::parse("t.csv", ""); }), "empty table"));
  CHECK(contains(complaint([] { Table::read("no/such/table.csv"); }), "cannot open"));
}

TEST_CASE("gzip is read like plain text") {
  const std::string path = (std::filesystem::temp_directory_path() / "tessella_calib_csv_test.csv.gz").string();
  gzFile out = gzopen(path.c_str(), "wb");
  REQUIRE(out != nullptr);
  gzputs(out, "a,b\n1,2\n");
  gzclose(out);
  CHECK(Table::read(path).number(0, "b") == 2.0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9); // cut into the data
  CHECK(contains(complaint([&] { Table::read(path); }), "damaged or truncated"));
  std::filesystem::remove(path);
}

TEST_CASE("duplicates and wrong units are refused") {
  const Table t = Table::parse("t.csv", "m,time_ms\n64,1\n64,1\n");
  Unique unique;
  unique.check(t, 0, "64");
  CHECK(contains(complaint([&] { unique.check(t, 1, "64"); }), "t.csv:3:1: error: shape: 64 is in the table twice"));
  CHECK_NOTHROW(check_rate(t, 0, "time_ms", 9e14, 9.9e14, "FLOP/s"));
  CHECK(contains(complaint([&] { check_rate(t, 1, "time_ms", 9e17, 9.9e14, "FLOP/s"); }), "is the unit right?"));
}
