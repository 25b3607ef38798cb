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
  std::vector<std::pair<std::string, std::string>> commands; // with what they do
  std::vector<std::pair<std::string, std::string>> flags;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void collect(const CLI::App& app, const std::string& path, std::vector<Level>& out) {
  Level level{path, {}, {}};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands)
    level.commands.emplace_back(command->get_name(), first_line(command->get_description()));
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      level.flags.emplace_back("--" + name, first_line(option->get_description()));
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

std::string joined(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string out;
  for (const auto& [word, what] : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Flags once a dash is typed; else the commands of the level, and files.
std::string bash_script(const std::vector<Level>& levels) {
  std::string cases;
  for (const Level& level : levels)
    cases += fmt::format("    {}) commands={} flags={} ;;\n", shell_text(level.path),
                         shell_text(joined(level.commands)), shell_text(joined(level.flags)));
  return "# tessella completion bash >/etc/bash_completion.d/tessella, or: source <(tessella completion bash)\n"
         "_tessella_level() {\n  case \"$1\" in\n" +
         cases +
         "    *) return 1 ;;\n  esac\n}\n"
         "_tessella() {\n"
         "  local commands='' flags='' level='' longer i current=${COMP_WORDS[COMP_CWORD]}\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    longer=\"${level:+$level }${COMP_WORDS[i]}\"\n"
         "    _tessella_level \"$longer\" && level=$longer\n"
         "  done\n"
         "  _tessella_level \"$level\"\n"
         "  if [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\"; compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _tessella tessella\n";
}

// "word:what it does" in quotes, as _describe takes them.
std::string zsh_words(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string out;
  for (const auto& [word, what] : words) out += (out.empty() ? "" : " ") + shell_text(word + ":" + what);
  return out;
}

// Serves as a file `_tessella` in $fpath, where its first call must complete at once, and when sourced.
std::string zsh_script(const std::vector<Level>& levels) {
  std::string cases;
  for (const Level& level : levels)
    cases += fmt::format("    ({}) commands=({}) flags=({}) ;;\n", shell_text(level.path), zsh_words(level.commands),
                         zsh_words(level.flags));
  return "#compdef tessella\n"
         "# tessella completion zsh >\"${fpath[1]}/_tessella\", or: source <(tessella completion zsh)\n"
         "_tessella_level() {\n  case \"$1\" in\n" +
         cases +
         "    (*) return 1 ;;\n  esac\n}\n"
         "_tessella() {\n"
         "  local level='' longer i\n"
         "  local -a commands flags\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    longer=\"${level:+$level }${words[i]}\"\n"
         "    _tessella_level \"$longer\" && level=$longer\n"
         "  done\n"
         "  _tessella_level \"$level\"\n"
         "  if [[ $words[CURRENT] == -* ]]; then\n"
         "    _describe -o 'flag' flags\n"
         "  else\n"
         "    (( ! $#commands )) || _describe 'command' commands\n"
         "    [[ -z $level ]] || _files\n"
         "  fi\n"
         "}\n"
         "if [[ $funcstack[1] == _tessella ]]; then\n"
         "  _tessella \"$@\"\n"
         "else\n"
         "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
         "  compdef _tessella tessella\n"
         "fi\n";
}

std::string fish_script(const std::vector<Level>& levels) {
  std::string paths;
  std::string rules;
  for (const Level& level : levels) {
    if (!level.path.empty()) paths += " " + shell_text(level.path);
    const std::string condition = shell_text(fmt::format("__tessella_at {}", shell_text(level.path)));
    for (const auto& [word, what] : level.commands)
      rules += fmt::format("complete -c tessella -n {} -f -a {} -d {}\n", condition, word, shell_text(what));
    for (const auto& [word, what] : level.flags)
      rules += fmt::format("complete -c tessella -n {} -l {} -d {}\n", condition, word.substr(2), shell_text(what));
  }
  return "# tessella completion fish >~/.config/fish/completions/tessella.fish\n"
         "function __tessella_at --argument-names wanted\n"
         "  set -l level ''\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    set -l longer (string trim -- \"$level $word\")\n"
         "    contains -- $longer" +
         paths +
         "; and set level $longer\n"
         "  end\n"
         "  test \"$level\" = \"$wanted\"\n"
         "end\n" +
         rules;
}

} // namespace

void add_completion(CLI::App& app, int& code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A script with which your shell completes commands and flags");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->footer("Example:\n  source <(tessella completion bash)           # bash; zsh likewise\n"
                  "  tessella completion zsh >\"${fpath[1]}/_tessella\"\n"
                  "  tessella completion fish >~/.config/fish/completions/tessella.fish");
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
