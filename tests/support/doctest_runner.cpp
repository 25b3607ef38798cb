// doctest itself, compiled once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/support/doctest_runner.h"

namespace tessella::testing {

int run_tests(int argc, char** argv, int exit_on_success) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  return result == 0 && !context.shouldExit() ? exit_on_success : result;
}

} // namespace tessella::testing
