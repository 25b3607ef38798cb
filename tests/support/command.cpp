#include "tests/support/command.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tessella::testing {
namespace {

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

CommandResult tessella(const std::string& arguments) {
  const char* program = std::getenv("TESSELLA");
  if (program == nullptr) throw std::runtime_error("TESSELLA must name the program under test");
  char folder[] = "/tmp/tessella-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
  const std::filesystem::path base = folder;
  const std::string command = std::string(program) + " " + arguments + " >" + (base / "out").string() + " 2>" +
                              (base / "err").string() + " </dev/null";
  const int status = std::system(command.c_str());
  CommandResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 128, slurp(base / "out"), slurp(base / "err")};
  std::filesystem::remove_all(base);
  return result;
}

} // namespace tessella::testing
