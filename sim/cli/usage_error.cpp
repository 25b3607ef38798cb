#include "sim/cli/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "sim/base/nearest.h"

namespace tessella {
namespace {

// The command that was being read: "tessella", "tessella import", "tessella import hf".
struct Reached {
  const CLI::App* app;
  std::string path;
};

Reached reached(const CLI::App& app) {
  Reached at{&app, app.get_name()};
  for (auto chosen = at.app->get_subcommands(); !chosen.empty(); chosen = at.app->get_subcommands())
    at = {chosen.front(), at.path + " " + chosen.front()->get_name()};
  return at;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string reason(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& word) { return word[0] == '-'; });
  if (flag != rest.end()) {
    if (flag->find(' ') != std::string::npos)
      return fmt::format("'{}' begins with dashes but is no flag; inputs like it go last, after --", *flag);
    const std::string name = flag->substr(0, flag->find('='));
    return fmt::format("unknown flag {}{}", name, did_you_mean(name, flags_of(app)));
  }
  const std::vector<std::string> commands = commands_of(app);
  if (!commands.empty() && !rest.empty())
    return fmt::format("unknown command '{}'{}", rest.front(), did_you_mean(rest.front(), commands));
  if (!commands.empty()) {
    std::string list;
    for (const std::string& name : commands) list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
    return fmt::format("which command? One of {}", list);
  }
  if (!rest.empty()) return fmt::format("unexpected '{}'", rest.front());
  return error.what();
}

} // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const Reached at = reached(app);
  return fmt::format("{0}: error: {1}\n{0} --help has the flags and an example.\n", at.path, reason(*at.app, error));
}

} // namespace tessella
