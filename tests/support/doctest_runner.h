// Runs all test cases that are linked into a program.
#pragma once

namespace tessella::testing {

// Returns 0 for a success, unless another exit code is asked for, and doctest's own code otherwise.
int run_tests(int argc, char** argv, int exit_on_success = 0);

} // namespace tessella::testing
