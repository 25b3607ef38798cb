// Measured runs and model names: a row that is accepted has an id nobody else has and positive cells; a refusal prints.
#include <set>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/validation_csv.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("validation_csv") {
  using namespace tessella;
  try {
    std::set<std::string> ids;
    for (const MeasuredRun& run : load_measured_runs_text("fuzz.csv", std::string(bytes))) {
      TSL_CHECK(ids.insert(run.id).second);
      TSL_CHECK(!run.step_s || *run.step_s > 0.0);
      TSL_CHECK(!run.gpus || *run.gpus > 0);
    }
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
  try {
    load_model_aliases_text("fuzz.csv", std::string(bytes));
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}
