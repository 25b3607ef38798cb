#include "sim/cli/exit_code.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "sim/base/check.h"
#include "sim/base/error.h"

namespace tessella {

int guarded(const std::function<int()>& command) {
  try {
    return command();
  } catch (const InputError& error) {
    fmt::print(stderr, "{}", format_error(error));
    return kExitInput;
  } catch (const InfeasiblePlan& error) {
    fmt::print(stderr, "does not fit: {}\n", error.what());
    return kExitInfeasible;
  } catch (const NotCovered& error) {
    fmt::print(stderr, "error: {}:\n", error.what());
    for (const std::string& row : error.missing()) fmt::print(stderr, "  missing: {}\n", row);
    fmt::print(stderr,
               "Measure them with tessella-calib, or choose a profile that has them (tessella list profiles).\n");
    return kExitNotCovered;
  } catch (const std::system_error& error) { // a full disk behind standard output
    fmt::print(stderr, "error: {}\n", error.what());
    return kExitInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "error: out of memory while simulating; try fewer micro-batches, or let identical replicas fold\n");
    return kExitInternal;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nThis is a bug in tessella; please report it with the experiment file.\n",
               error.what());
    return kExitInternal;
  }
}

} // namespace tessella
