// The text form of actions and pairs: refused, or read; what is read prints and reads back to the same value.
#include "sim/base/check.h"
#include "sim/domain/schedule.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("schedule_text") {
  if (const auto action = parse_action(bytes)) TSL_CHECK(parse_action(to_text(*action)) == action);
  if (const auto slot = parse_slot(bytes)) TSL_CHECK(parse_slot(to_text(*slot)) == slot);
}
