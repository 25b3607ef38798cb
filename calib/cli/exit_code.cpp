#include "calib/cli/exit_code.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "sim/base/error.h"

namespace tessella::calib {

int guarded(const std::function<int()>& command) {
  try {
    return command();
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", format_error(error));
    return kExitInput;
  } catch (const NotCovered& error) {
    fmt::print(stderr, "error: {}:\n", error.what());
    for (const std::string& row : error.missing()) fmt::print(stderr, "  missing: {}\n", row);
    return kExitNotCovered;
  } catch (const std::filesystem::filesystem_error& error) { // a folder that cannot be made or read
    fmt::print(stderr, "{}: error: {}\n", error.path1().string(), error.code().message());
    return kExitInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return kExitInternal;
  }
}

} // namespace tessella::calib
