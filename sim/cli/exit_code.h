// What the shell learns from a command, by whose fault an error is.
#pragma once

#include <functional>

namespace tessella {

inline constexpr int kExitOk = 0;
inline constexpr int kExitThreshold = 1;  // a threshold was missed (regress, validate --max-error)
inline constexpr int kExitInput = 2;      // wrong file or flag
inline constexpr int kExitInfeasible = 3; // legal, but does not fit
inline constexpr int kExitNotCovered = 4; // the profile lacks a cost
inline constexpr int kExitInternal = 70;  // our bug
inline constexpr int kExitInterrupted = 130;

// Runs a command; errors go to standard error and become their exit code.
int guarded(const std::function<int()>& command);

} // namespace tessella
