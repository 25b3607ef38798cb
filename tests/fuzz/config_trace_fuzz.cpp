// A routing trace: what is accepted holds one count for each iteration, layer and rank.
#include "sim/base/check.h"
#include "sim/config/load.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("config_trace") {
  using namespace tessella;
  try {
    const RoutingTrace t = load_trace_text("fuzz.csv", std::string(bytes));
    TSL_CHECK_OP(static_cast<std::int64_t>(t.tokens.size()), ==, t.iterations * t.layers * t.columns);
    TSL_CHECK(!t.tokens.empty());
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}
