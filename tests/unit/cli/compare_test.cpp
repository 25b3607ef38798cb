// tessella compare, as a user runs it; the numbers by hand in the first test.
#include <doctest/doctest.h>

#include "sim/domain/comparison.h"
#include "tests/support/process.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

FlatResult result(double mean, double p05, double p95, double compute) {
  return {"r",
          {},
          {{"a.yaml", "1111"}},
          {{"step_time_s", mean},
           {"step_time_p05_s", p05},
           {"step_time_p95_s", p95},
           {"ledger.compute", compute},
           {"ledger.imbalance", 1.0 - compute}}};
}

const char* const kExperiment = R"(experiment: small
model: toy
cluster: {topology: h100_node_8, profile: h100_sxm/2026-11-29-published}
parallelism: {pp: 2, ep: 4}
batch: {mbs: 1, gbs: 16, seq: 512}
routing: {kind: balanced}
)";

} // namespace

TEST_CASE("A difference is a tie, within or beyond the interval; moved time is in seconds of the step") {
  CHECK(compare(result(1.0, 1.0, 1.0, 0.5), result(1.01, 1.01, 1.01, 0.5)).significance == Significance::tie);
  CHECK(compare(result(1.0, 0.9, 1.1, 0.5), result(1.15, 1.05, 1.2, 0.5)).significance == Significance::within);
  CHECK(compare(result(1.0, 0.9, 1.1, 0.5), result(1.3, 1.2, 1.4, 0.5)).significance == Significance::beyond);
  CHECK(compare(result(1.0, 1.0, 1.0, 0.5), result(1.3, 1.3, 1.3, 0.5)).has_interval == false);
  const Comparison c = compare(result(1.0, 1.0, 1.0, 0.5), result(2.0, 2.0, 2.0, 0.3));
  REQUIRE(c.ledger.size() == 2);
  CHECK(c.ledger[0].name == "imbalance"); // 0.5 s -> 1.4 s, before compute 0.5 s -> 0.6 s
  CHECK(c.ledger[0].before == doctest::Approx(0.5));
  CHECK(c.ledger[0].after == doctest::Approx(1.4));
  CHECK(c.ledger[1].after == doctest::Approx(0.6));
  CHECK(c.relative == doctest::Approx(1.0));
}

TEST_CASE("The same content under another name is no changed input") {
  FlatResult a = result(1.0, 1.0, 1.0, 0.5);
  FlatResult b = a;
  b.inputs = {{"elsewhere/a.yaml", "1111"}, {"b.yaml", "2222"}};
  const auto inputs = compare(a, b).inputs;
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].name == "b.yaml");
}

TEST_CASE("Two experiments, and two results, are compared; a file in the wrong role is told its role") {
  const TempFolder folder;
  const std::string file = folder.write("e.yaml", kExperiment);
  const Ran ran = run_command({"compare", file, file, "--set-b", "batch.seq_length=1024"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("batch.seq_length") != std::string::npos);
  CHECK(ran.out.find("512 -> 1024") != std::string::npos);
  CHECK(ran.out.find("compute") != std::string::npos);

  REQUIRE(run_command({"run", file, "--json", folder / "a.json"}).code == 0);
  const Ran same = run_command({"compare", folder / "a.json", file});
  CHECK(same.code == 0);
  CHECK(same.out.find("(+0.0 %): a tie") != std::string::npos);
  CHECK(same.out.find("no input differs") != std::string::npos);

  const std::string trace = folder.write("t.json", R"({"traceEvents": []})");
  const Ran wrong = run_command({"compare", folder / "a.json", trace});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("is a Chrome or Kineto trace") != std::string::npos);
}
