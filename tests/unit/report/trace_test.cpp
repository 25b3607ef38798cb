// The Chrome trace of the sample run: parses, keeps picoseconds, and every arrow has two ends.
#include <doctest/doctest.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/error.h"
#include "sim/report/trace.h"
#include "tests/support/report_sample.h"

using namespace tessella;
using tessella::testing::sample_result;
using tessella::testing::sample_scenario;

namespace {

std::string trace_of(const Scenario& s, const RunResult& r, const TraceOptions& options = {}) {
  std::string text;
  write_trace(s, r, options, [&](std::string_view piece) { text += piece; });
  return text;
}

nlohmann::json events_of(const std::string& text) {
  return nlohmann::json::parse(text)["traceEvents"];
}

std::map<std::string, int> phases_of(const nlohmann::json& events) {
  std::map<std::string, int> count;
  for (const auto& e : events) ++count[e["ph"].get<std::string>()];
  return count;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string read_gzip(const std::string& path) {
  std::string text;
  std::array<char, 4096> buffer{};
  gzFile in = gzopen(path.c_str(), "rb");
  for (int n; (n = gzread(in, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  gzclose(in);
  return text;
}

} // namespace

TEST_CASE("A trace names its ranks and lanes and holds every op once") {
  const RunResult r = sample_result();
  const auto events = events_of(trace_of(sample_scenario(), r));
  CHECK(phases_of(events)["X"] == static_cast<int>(r.events.size() + r.flows.size()));
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const auto& e : events) {
    if (e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    if (e["name"] == "thread_name") threads[{e["pid"], e["tid"]}] = e["args"]["name"];
  }
  CHECK(processes == std::map<int, std::string>{{0, "[TP00-DP00-PP00-EP00]"}, {4, "[TP00-DP00-PP01-EP00]"}});
  CHECK(threads[{0, 0}] == "compute");
  CHECK(threads[{4, 2}] == "p2p");
}

TEST_CASE("Every arrow has a start and an end on the two ranks, in order") {
  const RunResult r = sample_result();
  std::map<int, nlohmann::json> starts;
  std::map<int, nlohmann::json> ends;
  for (const auto& e : events_of(trace_of(sample_scenario(), r))) {
    if (e["ph"] == "s") starts[e["id"]] = e;
    if (e["ph"] == "f") ends[e["id"]] = e;
  }
  CHECK(starts.size() == r.flows.size());
  REQUIRE(starts.size() == ends.size());
  for (const auto& [id, start] : starts) {
    const nlohmann::json& end = ends.at(id);
    CHECK(start["name"] == end["name"]);
    CHECK(start["ts"].get<double>() <= end["ts"].get<double>());
    CHECK(start["pid"].get<int>() + end["pid"].get<int>() == 4); // ranks 0 and 4
    CHECK(start["tid"] == 2);
    CHECK(end["tid"] == 0);
  }
}

TEST_CASE("An arrow starts inside a slice that stands before it, and the slice it points at stands after it") {
  const auto events = events_of(trace_of(sample_scenario(), sample_result()));
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool starts = events[i]["ph"] == "s";
    if (!starts && events[i]["ph"] != "f") continue;
    bool found = false;
    for (std::size_t k = starts ? 0 : i; k < (starts ? i : events.size()) && !found; ++k) {
      const auto& e = events[k];
      if (e["ph"] != "X" || e["pid"] != events[i]["pid"] || e["tid"] != events[i]["tid"]) continue;
      found = starts ? e["ts"] == events[i]["ts"] : e["ts"].get<double>() >= events[i]["ts"].get<double>();
    }
    CHECK(found);
  }
}

TEST_CASE("Arrows to a rank that was not chosen are left out") {
  RunResult r = sample_result();
  std::erase_if(r.events, [](const TraceEvent& e) { return e.rank == 4; });
  auto phases = phases_of(events_of(trace_of(sample_scenario(), r)));
  CHECK(phases.count("s") == 0);
  CHECK(phases["X"] == 8 + 4); // the messages themselves stay
}

TEST_CASE("Picoseconds survive, and steps follow one another") {
  RunResult r;
  r.lanes = {"compute"};
  r.step_times = {{5'000'000}, {7'000'000}};
  r.events = {{0, 1, 0, 0, 0, 'F', "x", {1}, {1'000'003}}};
  const std::string text = trace_of(sample_scenario(), r);
  CHECK(text.find("\"ts\":5.000001,\"dur\":1.000002,") != std::string::npos);
}

TEST_CASE("A hostile op or lane name is escaped") {
  RunResult r = sample_result();
  r.events[0].op = "\"},{\"ph\":\"X\n\xff";
  r.lanes[0] = "</script>\"\\";
  const auto events = events_of(trace_of(sample_scenario(), r));
  CHECK(phases_of(events)["X"] == static_cast<int>(r.events.size() + r.flows.size()));
}

TEST_CASE("The size is bounded: the latest ops go first, and the warning counts them") {
  const RunResult r = sample_result(); // 16 ops
  std::string text;
  const auto warning =
      write_trace(sample_scenario(), r, {.max_events = 5}, [&](std::string_view piece) { text += piece; });
  REQUIRE(warning);
  CHECK(*warning == "the trace keeps the earliest 5 of 16 ops and drops 11; choose fewer ranks or steps");
  const auto events = events_of(text);
  CHECK(phases_of(events)["X"] == 5 + 3); // three messages have arrived when the fifth op begins, at 4 ms
  for (const auto& e : events) {
    if (e["ph"] != "M") CHECK(e["ts"].get<double>() <= 4000.0);
  }
}

TEST_CASE("An empty run is still a trace") {
  CHECK(events_of(trace_of(sample_scenario(), RunResult{})).empty());
}

TEST_CASE("A name that ends in .gz is compressed, with the same bytes inside") {
  const auto folder = std::filesystem::temp_directory_path() / "tessella_trace_test";
  std::filesystem::create_directories(folder);
  const std::string plain = (folder / "t.json").string();
  const std::string packed = (folder / "t.json.gz").string();
  CHECK_FALSE(write_trace_file(sample_scenario(), sample_result(), plain));
  CHECK_FALSE(write_trace_file(sample_scenario(), sample_result(), packed));
  CHECK(read_file(plain) == trace_of(sample_scenario(), sample_result()));
  CHECK(read_gzip(packed) == read_file(plain));
  CHECK(read_file(packed).size() < read_file(plain).size() / 3);
  const std::string once = read_file(packed);
  write_trace_file(sample_scenario(), sample_result(), packed);
  CHECK(read_file(packed) == once); // no time stamp inside
  CHECK_THROWS_AS(write_trace_file(sample_scenario(), sample_result(), (folder / "no/t.json.gz").string()), InputError);
  std::filesystem::remove_all(folder);
}
