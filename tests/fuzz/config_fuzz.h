// What the fuzz targets of sim/config share.
#pragma once

#include <string>

#include "sim/base/check.h"
#include "sim/base/error.h"

namespace tessella::testing {

// Reads a text; what is accepted must load back equal from its canonical text. A refusal must print.
template <class Load, class Dump>
void read_and_write(const std::string& text, const Load& load, const Dump& dump) {
  try {
    const auto value = load("fuzz.yaml", text, {});
    try {
      TSL_CHECK(load("dump.yaml", dump(value), {}) == value);
    } catch (const InputError& error) {
      throw InternalError("the canonical text is refused: " + format_error(error) + dump(value));
    }
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}

} // namespace tessella::testing
