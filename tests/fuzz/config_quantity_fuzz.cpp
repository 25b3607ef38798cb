// Quantities of every dimension: what is accepted is finite, not negative, and written back to the same bits.
#include <cmath>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/quantity.h"
#include "tests/support/fuzz.h"

namespace {

using namespace tessella;

const SourceSpan kHere{"--flag", 0, 0, 0, {}};

template <class Parse>
void accept_or_refuse(const Parse& parse) {
  try {
    parse();
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}

} // namespace

FUZZ_TARGET("config_quantity") {
  for (const Dimension d :
       {Dimension::plain, Dimension::seconds, Dimension::bytes, Dimension::bandwidth, Dimension::flop_rate})
    accept_or_refuse([&] {
      const double value = parse_quantity(bytes, d, kHere);
      TSL_CHECK(std::isfinite(value) && !std::signbit(value));
      TSL_CHECK_OP(parse_quantity(quantity_text(value, d), d, kHere), ==, value);
    });
  accept_or_refuse([&] {
    const Duration duration = parse_duration(bytes, kHere);
    TSL_CHECK_OP(parse_duration(duration_text(duration), kHere).ps, ==, duration.ps);
  });
  accept_or_refuse([&] {
    const Bytes size = parse_bytes(bytes, kHere);
    TSL_CHECK_OP(size.count, >, 0);
    TSL_CHECK_OP(parse_bytes(bytes_text(size), kHere).count, ==, size.count);
  });
}
