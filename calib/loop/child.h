// Runs another program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace tessella::calib {

struct ChildResult {
  int code = 0;       // exit status; 128 + signal when it was killed
  std::string errors; // its standard error, the last 8 KiB
};

// `arguments` without the program itself. Standard output goes to nowhere. Throws InputError naming `program` when it
// cannot be started.
ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments);

// The program `name` beside the running one, or in the build folder's sim/cli; "" when there is none.
std::string sibling_program(const std::string& name);

} // namespace tessella::calib
