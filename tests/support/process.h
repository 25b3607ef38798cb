// Runs the built program as a user would. TESSELLA_EXE is its path, from the build.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace tessella::testing {

// Both streams go to files; the process runs in the repository root.
inline pid_t start_command(const std::vector<std::string>& arguments, const std::string& out, const std::string& err) {
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644), STDOUT_FILENO);
  dup2(open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>("tessella")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  setenv("TESSELLA_HOME", std::filesystem::current_path().c_str(), 1);
  execv(TESSELLA_EXE, argv.data());
  _exit(127);
}

struct Ran {
  int code = 0; // exit code; 1000 + signal when it was killed
  std::string out;
  std::string err;
};

inline Ran run_command(const std::vector<std::string>& arguments) {
  const TempFolder folder;
  const pid_t child = start_command(arguments, folder / "out", folder / "err");
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_text_file(folder / "out"),
          read_text_file(folder / "err")};
}

} // namespace tessella::testing
