// What the reports of the sample run look like, byte for byte.
#include <doctest/doctest.h>

#include "sim/report/csv.h"
#include "sim/report/json.h"
#include "sim/report/text.h"
#include "sim/report/timeline.h"
#include "tests/support/golden.h"
#include "tests/support/report_sample.h"

using namespace tessella;
using namespace tessella::testing;

TEST_CASE("Terminal report") {
  const Scenario s = sample_scenario();
  const RunResult r = sample_result();
  check_golden("tests/golden/report/run.txt",
               headline_text(s, r) + ledger_text(s, r) + warnings_text(s, r) + simulation_text(r));
}

TEST_CASE("Memory table of a plan that does not fit") {
  RunResult r = sample_result();
  r.memory.capacity = {std::int64_t{48} << 30};
  r.memory.fits = false;
  r.memory.smallest_world = 16;
  check_golden("tests/golden/report/memory.txt", memory_text(r.memory));
}

TEST_CASE("Timeline") {
  check_golden("tests/golden/report/timeline.txt", timeline_text(sample_result(), {.step = 0, .width = 67}));
}

TEST_CASE("JSON") {
  check_golden("tests/golden/report/run.json", run_json(sample_scenario(), sample_result()));
}

TEST_CASE("Ledger of each rank as CSV") {
  check_golden("tests/golden/report/ranks.csv", rank_ledger_csv(sample_scenario(), sample_result()));
}
