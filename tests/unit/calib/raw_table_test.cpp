// raw.csv and run.json: what an interrupted run leaves, and what refuses to be continued.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "calib/protocol/raw_table.h"
#include "calib/protocol/run_record.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "tessella_raw_table_test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

RawRow sample(std::int64_t m) {
  RawRow r;
  r.shape = {"gemm_dgrad", "cublasLt, algo \"7\"", "bf16", {{"m", m}, {"n", 512}, {"k", 128}}, 1};
  r.measurement.temperature = Temperature::cold;
  r.measurement.summary = {1.25e-4, 1e-6, 0.004, 31, 2};
  r.measurement.batch = 4;
  r.measurement.throttled = 3;
  r.measurement.error = 2e-3;
  r.measurement.power_w = 512.5;
  r.work = {2.0e9, 3.0e6, 4096};
  r.note = "first line\nsecond";
  return r;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

} // namespace

TEST_CASE("A row survives the file, with commas, quotes and line breaks in its texts") {
  Folder folder;
  {
    RawTable table(folder.file("raw.csv"));
    table.append(sample(1));
  }
  const auto rows = read_raw(folder.file("raw.csv"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].shape == sample(1).shape);
  CHECK(rows[0].measurement.summary == sample(1).measurement.summary);
  CHECK(rows[0].measurement.power_w == 512.5);
  CHECK_FALSE(rows[0].measurement.clock_mhz.has_value());
  CHECK(rows[0].work.footprint == 4096);
  CHECK(rows[0].note == "first line second");
}

TEST_CASE("An interrupted run resumes: known shapes are known, a half-written line is cut off") {
  Folder folder;
  const std::string path = folder.file("raw.csv");
  { RawTable(path).append(sample(1)); }
  const std::string whole = text_of(path);
  const std::string line = to_csv(sample(2));
  write_file(path, whole + line.substr(0, line.size() / 2));
  RawTable table(path);
  CHECK(table.cut_partial_line());
  CHECK(table.has(sample(1).shape, Temperature::cold));
  CHECK_FALSE(table.has(sample(1).shape, Temperature::hot));
  CHECK_FALSE(table.has(sample(2).shape, Temperature::cold));
  table.append(sample(2));
  CHECK(text_of(path) == whole + line);
}

TEST_CASE("A killed first write leaves a table to start over") {
  Folder folder;
  write_file(folder.file("raw.csv"), raw_header().substr(0, 10));
  RawTable table(folder.file("raw.csv"));
  CHECK(table.rows().empty());
  CHECK(text_of(folder.file("raw.csv")) == raw_header());
}

TEST_CASE("Somebody else's file is not overwritten") {
  Folder folder;
  write_file(folder.file("raw.csv"), "a,b\n1,2\n");
  CHECK_THROWS_WITH_AS(RawTable{folder.file("raw.csv")}, doctest::Contains("not a table of measurements"), InputError);
  CHECK(text_of(folder.file("raw.csv")) == "a,b\n1,2\n");
}

TEST_CASE("A disk that fills up is said with the way to go on, and what was written stays") {
  Folder folder;
  const std::string path = folder.file("raw.csv");
  RawTable table(path);
  table.append(sample(1));
  // A file-size limit is the part of a full disk that a test can have.
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit tight = old;
  tight.rlim_cur = std::filesystem::file_size(path);
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string message;
  try {
    table.append(sample(2));
  } catch (const InputError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  CHECK(message.find("the same command resumes") != std::string::npos);
  CHECK(read_raw(path).size() == 1);
  CHECK_THROWS_AS(RawTable{"/dev/full"}, InputError);
}

TEST_CASE("Damaged rows are refused with line and column") {
  Folder folder;
  std::string line = to_csv(sample(1));
  const auto bad = [&](const std::string& from, const std::string& to, const char* message) {
    std::string damaged = line;
    damaged.replace(damaged.find(from), from.size(), to);
    write_file(folder.file("raw.csv"), raw_header() + damaged);
    CHECK_THROWS_WITH_AS(read_raw(folder.file("raw.csv")), doctest::Contains(message), InputError);
  };
  bad("m=1;", "m=;", "dims: ");
  bad("cold", "cool", "neither cold nor hot");
  bad(",ok,", ",okay,", "did you mean 'ok'");
  bad("0.000125", "-1", "not positive");
  bad("0.000125", "nan", "is not a number");
  bad(",512.5,", ",", "fields where the header has");
}

TEST_CASE("A folder belongs to one device") {
  Folder folder;
  RunRecord old;
  old.device = {"cuda", "NVIDIA H200", "580.1", "13.0", "2.27"};
  old.date = "2026-11-29T10:00:00Z";
  old.left_out = {"gemm m=1"};
  old.facts = {{"sm clock", "1980 MHz"}};
  write_file(folder.file("run.json"), to_json(old));
  CHECK(read_run_record(folder.file("run.json")) == old);

  RunRecord fresh = old;
  fresh.date = "2026-11-30T10:00:00Z";
  fresh.device.driver = "590.0";
  const RunRecord same = continue_record(old, fresh, "DIR", false);
  CHECK(same.date == old.date);
  CHECK(same.facts.back().second == "driver 590.0, CUDA 13.0, NCCL 2.27");
  CHECK(same.mixed_with.empty());

  fresh.device.gpu = "NVIDIA H100";
  CHECK_THROWS_WITH_AS(continue_record(old, fresh, "DIR", false), doctest::Contains("NVIDIA H200"), InputError);
  const RunRecord mixed = continue_record(old, fresh, "DIR", true);
  CHECK(mixed.device.gpu == "NVIDIA H200");
  CHECK(mixed.mixed_with == std::vector<std::string>{"NVIDIA H100 (cuda)"});

  write_file(folder.file("run.json"), "{\"device\": 3");
  CHECK_THROWS_AS(read_run_record(folder.file("run.json")), InputError);
}
