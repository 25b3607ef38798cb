// Runs the program as a user does: through the shell, with its output and exit code.
#pragma once

#include <string>

namespace tessella::testing {

struct CommandResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// `arguments` as typed after the program's name. The program is the one this build made (environment TESSELLA).
CommandResult tessella(const std::string& arguments);

} // namespace tessella::testing
