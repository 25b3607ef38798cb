// Megatron's layout strings: parsed, or refused with a column inside the string; what is parsed prints and parses back.
#include <string>

#include "sim/base/check.h"
#include "sim/domain/layout.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("layout") {
  const std::string text(bytes);
  try {
    const Partition partition = parse_layout(text);
    TSL_CHECK(parse_layout(to_layout(partition)) == partition);
  } catch (const LayoutError& error) {
    TSL_CHECK_OP(error.column(), >=, 1);
    TSL_CHECK_OP(error.column(), <=, static_cast<int>(text.size()) + 1);
  }
}
