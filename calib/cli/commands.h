// One function per subcommand, each in its own file: declares the options and, when the command was chosen, runs it and
// stores the exit code.
#pragma once

namespace CLI {
class App;
}

namespace tessella::calib {

void add_run(CLI::App& app, int& code);
void add_fit(CLI::App& app, int& code);
void add_validate(CLI::App& app, int& code);
void add_compare(CLI::App& app, int& code);
void add_diff(CLI::App& app, int& code);
void add_import(CLI::App& app, int& code);

} // namespace tessella::calib
