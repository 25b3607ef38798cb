// One function per subcommand, each in its own file: declares the options and, when the command was chosen, runs it and
// stores the exit code.
#pragma once

namespace CLI {
class App;
}

namespace tessella {

void add_run(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_memory(CLI::App& app, int& code);
void add_plan(CLI::App& app, int& code);
void add_search(CLI::App& app, int& code);
void add_list(CLI::App& app, int& code);
void add_collective(CLI::App& app, int& code);
void add_validate(CLI::App& app, int& code);
void add_sweep(CLI::App& app, int& code);
void add_merge(CLI::App& app, int& code);
void add_compare(CLI::App& app, int& code);
void add_report(CLI::App& app, int& code);
void add_regress(CLI::App& app, int& code);
void add_import(CLI::App& app, int& code);
void add_export(CLI::App& app, int& code);
void add_pair(CLI::App& app, int& code);
void add_pairs(CLI::App& app, int& code);
void add_schedule(CLI::App& app, int& code);
void add_import_schedule(CLI::App& import, int& code); // under `import`
void add_experts(CLI::App& app, int& code);
void add_piper(CLI::App& app, int& code);
void add_completion(CLI::App& app, int& code); // last: it knows those that were added before

} // namespace tessella
