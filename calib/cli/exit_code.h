// What the shell learns from a command, by whose fault an error is; the same numbers as the simulator's.
#pragma once

#include <functional>

namespace tessella::calib {

inline constexpr int kExitOk = 0;
inline constexpr int kExitThreshold = 1;  // validate --max-error was missed
inline constexpr int kExitInput = 2;      // wrong file, flag or machine
inline constexpr int kExitNotCovered = 4; // a table or profile lacks a cost
inline constexpr int kExitInternal = 70;  // our bug
inline constexpr int kExitSkipped = 77;   // a test's condition does not hold, such as a GPU that is not there
inline constexpr int kExitInterrupted = 130;

// Runs a command; errors go to standard error and become their exit code.
int guarded(const std::function<int()>& command);

} // namespace tessella::calib
