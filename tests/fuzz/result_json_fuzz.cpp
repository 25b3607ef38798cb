// Results of run --json: read or refused, and compared with themselves.
#include <string>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/read_result.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("result_json") {
  try {
    const FlatResult result = read_result_text("a.json", std::string(bytes));
    const Comparison same = compare(result, result);
    TSL_CHECK(same.ledger.empty());
    TSL_CHECK(same.inputs.empty());
  } catch (const InputError&) {
  }
}
