// Checks for our own bugs. A failed check prints the expression and both operands and throws InternalError
// (exit code 70). Wrong user input is never a check: it is an InputError (sim/base/error.h).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tessella {

// A broken invariant of Tessella itself; whoever sees it has found a bug to report.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* file, int line, const std::string& what) {
  throw InternalError(fmt::format("{}:{}: check failed: {}", file, line, what));
}

} // namespace tessella

#define TSL_CHECK(condition)                                                                                           \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::tessella::check_failed(__FILE__, __LINE__, #condition);                                                        \
  } while (false)

// TSL_CHECK_OP(a, ==, b) prints both operands; they must be formattable by fmt.
#define TSL_CHECK_OP(a, op, b)                                                                                         \
  do {                                                                                                                 \
    const auto& tsl_a = (a);                                                                                           \
    const auto& tsl_b = (b);                                                                                           \
    if (!(tsl_a op tsl_b)) [[unlikely]]                                                                                \
      ::tessella::check_failed(__FILE__, __LINE__, ::fmt::format("{} {} {} ({} vs {})", #a, #op, #b, tsl_a, tsl_b));   \
  } while (false)
