// tessella completion: a script for the shell, made from the commands and flags of this very program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"

namespace tessella {
namespace {

// What may follow the words typed so far: "", "run", "import hf".
struct Level {
  std::string path;
  std::vector<std::pair<std::string, std::string>> words; // subcommands, then flags; with what they do
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void collect(const CLI::App& app, const std::string& path, std::vector<Level>& out) {
  Level level{path, {}};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) level.words.emplace_back(command->get_name(), command->get_description());
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      level.words.emplace_back("--" + name, option->get_description());
  out.push_back(std::move(level));
  for (const CLI::App* command : commands)
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
}

// In single quotes for a POSIX shell and fish alike.
std::string shell_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string joined(const Level& level) {
  std::string out;
  for (const auto& [word, what] : level.words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// The words of each level, and files where no flag is begun. zsh runs it through bashcompinit.
std::string bash_script(const std::vector<Level>& levels) {
  std::string cases;
  for (const Level& level : levels)
    cases += fmt::format("    {}) words={} ;;\n", shell_text(level.path), shell_text(joined(level)));
  return "# tessella completion bash >/etc/bash_completion.d/tessella, or: source <(tessella completion bash)\n"
         "_tessella_words() {\n  case \"$1\" in\n" +
         cases +
         "    *) return 1 ;;\n  esac\n}\n"
         "_tessella() {\n"
         "  local words='' path='' longer i current=${COMP_WORDS[COMP_CWORD]}\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    longer=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    _tessella_words \"$longer\" && path=$longer\n"
         "  done\n"
         "  _tessella_words \"$path\"\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- \"$current\"))\n"
         "}\n"
         "complete -o filenames -F _tessella tessella\n";
}

std::string zsh_script(const std::vector<Level>& levels) {
  return "#compdef tessella\n# source <(tessella completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(levels);
}

std::string fish_script(const std::vector<Level>& levels) {
  std::string out = "# tessella completion fish >~/.config/fish/completions/tessella.fish\n";
  for (const Level& level : levels) {
    std::string condition;
    if (level.path.empty()) {
      condition = "__fish_use_subcommand";
    } else {
      for (std::size_t begin = 0; begin < level.path.size();) {
        const std::size_t end = std::min(level.path.find(' ', begin), level.path.size());
        condition += (condition.empty() ? "" : "; and ") +
                     fmt::format("__fish_seen_subcommand_from {}", level.path.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    for (const auto& [word, what] : level.words) {
      const bool flag = word.starts_with("--");
      out += fmt::format("complete -c tessella -n {} {} {} -d {}\n", shell_text(condition), flag ? "-l" : "-f -a",
                         flag ? word.substr(2) : word, shell_text(first_line(what)));
    }
  }
  return out;
}

} // namespace

void add_completion(CLI::App& app, int& code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A script with which your shell completes commands and flags");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->footer("Example:\n  source <(tessella completion bash)");
  command->callback([&app, shell, &code] {
    std::vector<Level> levels;
    collect(app, "", levels);
    fmt::print("{}", *shell == "bash"  ? bash_script(levels)
                     : *shell == "zsh" ? zsh_script(levels)
                                       : fish_script(levels));
    code = kExitOk;
  });
}

} // namespace tessella
