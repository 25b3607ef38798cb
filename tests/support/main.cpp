// The entry of every test program.
#include "tests/support/doctest_runner.h"

int main(int argc, char** argv) {
  return tessella::testing::run_tests(argc, argv);
}
