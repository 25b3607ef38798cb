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
    const std::size_t end = line.find("') commands=");
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

namespace {

// Types `line` into an interactive zsh on a terminal of its own, where `tessella` prints the words it was called with.
// `setup` makes the completion known; it finds the script as $1/_tessella.
std::string typed_in_zsh(const std::string& setup, const std::string& line) {
  const TempFolder folder;
  folder.write("_tessella", run_command({"completion", "zsh"}).out);
  folder.write("driver.zsh", "zmodload zsh/zpty || exit 1\n"
                             "zpty shell zsh -f -i\n"
                             "typed() { zpty -w shell \"$1\"; }\n"
                             "typed \"tessella() { print -rl -- \\\"\\$@\\\" >$1/out; mv $1/out $1/words; }\"\n"
                             "typed \"" +
                                 setup +
                                 "\"\n"
                                 "typed \"print ready >$1/ready\"\n"
                                 "for i in {1..100}; do [[ -e $1/ready ]] && break; sleep 0.1; done\n"
                                 "zpty -w -n shell \"$2\"$'\\t'$'\\n'\n"
                                 "for i in {1..100}; do [[ -e $1/words ]] && break; sleep 0.1; done\n"
                                 "zpty -d shell\ncat $1/words\n");
  const std::string command = "zsh -f " + (folder / "driver.zsh") + " " + (folder / "") + " '" + line + "' >" +
                              (folder / "printed") + " 2>&1 </dev/null";
  const int status = std::system(command.c_str());
  const std::string out = read_text_file(folder / "printed");
  return status == 0 ? out : "failed: " + out;
}

} // namespace

TEST_CASE("zsh completes what is typed, sourced or from $fpath, at the first call") {
  if (in_shell("zsh", "true") == "skipped") {
    MESSAGE("skipped: no zsh");
    return;
  }
  const std::string compinit = "autoload -Uz compinit; compinit -u -D; ";
  const std::string sourced = compinit + "source $1/_tessella";
  CHECK(typed_in_zsh(sourced, "tessella regr") == "regress\n");
  CHECK(typed_in_zsh("source $1/_tessella", "tessella import hf x --o") == "import\nhf\nx\n--out\n");
  CHECK(typed_in_zsh("fpath=($1 \\$fpath); " + compinit, "tessella run x.yaml --timel") == "run\nx.yaml\n--timeline\n");
  CHECK(typed_in_zsh(sourced, "tessella run LICEN") == "run\nLICENSE\n");
  CHECK(typed_in_zsh(sourced, "tessella import schedule --com") == "import\nschedule\n--comms\n");
}

TEST_CASE("fish completes commands and flags of the level that is typed") {
  const auto asked = [](const std::string& line) { return in_shell("fish", "complete -C \"" + line + "\""); };
  const std::string commands = asked("tessella regr");
  if (commands == "skipped") {
    MESSAGE("skipped: no fish");
    return;
  }
  CHECK(commands == "regress\tRun a baseline's experiments again: what moved, and what moved it\n");
  CHECK(asked("tessella import hf x --o").starts_with("--out\t"));
  CHECK(asked("tessella import ").find("megatron\t") != std::string::npos);
  CHECK(asked("tessella import schedule --p") == ""); // --pp is the other schedule's
  CHECK(asked("tessella run LICEN") == "LICENSE\n");
  CHECK(asked("tessella run x.yaml --timel").starts_with("--timeline\t"));
}
