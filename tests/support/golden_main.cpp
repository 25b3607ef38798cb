// The doctest runner of golden tests: a run that rewrote its goldens proves nothing, so it ends as skipped (exit 77).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/support/golden.h"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  return result == 0 && !context.shouldExit() && tessella::testing::accepting_goldens() ? 77 : result;
}
