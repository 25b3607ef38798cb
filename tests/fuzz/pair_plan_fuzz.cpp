// The text form of a pair's order: refused with an InputError, or read; what is read prints and reads back equal.
#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/domain/pair_plan.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("pair_plan") {
  try {
    const PairPlan plan = parse_pair_plan(bytes, "order.yaml");
    TSL_CHECK(parse_pair_plan(to_text(plan), "order.yaml") == plan);
  } catch (const InputError&) {
  }
}
