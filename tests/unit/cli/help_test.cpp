// Every command explains itself with an example, and the shell completes exactly the commands there are.
#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "tests/support/process.h"

using namespace tessella::testing;

namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The paths of the completion script's table: "", "run", "import hf".
std::vector<std::string> command_paths() {
  std::istringstream script(run_command({"completion", "bash"}).out);
  std::vector<std::string> paths;
  for (std::string line; std::getline(script, line);) {
    const std::size_t end = line.find("') words=");
    if (line.starts_with("    '") && end != std::string::npos) paths.push_back(line.substr(5, end - 5));
  }
  return paths;
}

// Sources the script in `shell` and runs `code` after it; what that prints. "skipped" without such a shell.
std::string in_shell(const std::string& shell, const std::string& code) {
  if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) return "skipped";
  const TempFolder folder;
  const std::string script = folder.write("completion", run_command({"completion", shell}).out);
  const std::string line = shell + " -c 'source " + script + "; " + code + "' >" + (folder / "out") + " 2>&1";
  const int status = std::system(line.c_str());
  return status == 0 ? read_text_file(folder / "out") : "failed: " + read_text_file(folder / "out");
}

} // namespace

TEST_CASE("Every command has a help text with an example") {
  const auto paths = command_paths();
  REQUIRE(paths.size() > 15);
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    CAPTURE(path);
    std::vector<std::string> arguments = words(path);
    arguments.emplace_back("--help");
    const Ran ran = run_command(arguments);
    CHECK(ran.code == 0);
    const std::size_t example = ran.out.find("Example");
    REQUIRE(example != std::string::npos);
    CHECK(ran.out.find("tessella " + path, example) != std::string::npos);
  }
}

TEST_CASE("bash completes commands, their flags and files; flags take the place of none of them") {
  const std::string ask = "_tessella; echo ${COMPREPLY[@]}";
  const std::string flags = in_shell("bash", "COMP_WORDS=(tessella import hf --o); COMP_CWORD=3; " + ask);
  if (flags == "skipped") {
    MESSAGE("skipped: no bash");
    return;
  }
  CHECK(flags == "--out\n");
  CHECK(in_shell("bash", "COMP_WORDS=(tessella regr); COMP_CWORD=1; " + ask) == "regress\n");
  CHECK(in_shell("bash", "COMP_WORDS=(tessella run LICEN); COMP_CWORD=2; " + ask) == "LICENSE\n");
  CHECK(in_shell("bash", "COMP_WORDS=(tessella run x.yaml --seed 1 --timel); COMP_CWORD=5; " + ask) == "--timeline\n");
  CHECK(run_command({"completion", "csh"}).code == 2);
}

TEST_CASE("The scripts of zsh and fish are sound, where these shells are installed") {
  const std::string zsh = in_shell("zsh", "whence -w _tessella");
  CHECK((zsh == "skipped" || zsh == "_tessella: function\n"));
  const std::string fish = in_shell("fish", "complete -C \"tessella regr\"");
  CHECK((fish == "skipped" || fish.starts_with("regress")));
  if (zsh == "skipped" || fish == "skipped") MESSAGE("zsh " << zsh << ", fish " << fish);
}
