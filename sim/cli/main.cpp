// The program `tessella`: all wiring of commands in one place.
#include <CLI/CLI.hpp>

#include <cstdio>

#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/usage_error.h"

int main(int argc, char** argv) {
  using namespace tessella;
  CLI::App app{"Simulates and plans pipeline-parallel training of large MoE models.\n"
               "Start with: tessella run experiments/01_qwen3_235b_h100_256/experiment.yaml",
               "tessella"};
  app.set_version_flag("--version", TESSELLA_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done; 1 a threshold was missed; 2 wrong input; 3 the plan does not fit;\n"
             "4 the profile does not cover a cost; 70 a bug of ours; 130 interrupted.");
  int code = kExitOk;
  add_run(app, code);
  add_check(app, code);
  add_memory(app, code);
  add_plan(app, code);
  add_sweep(app, code);
  add_merge(app, code);
  add_compare(app, code);
  add_report(app, code);
  add_regress(app, code);
  add_import(app, code);
  add_export(app, code);
  add_search(app, code);
  add_list(app, code);
  add_collective(app, code);
  add_validate(app, code);
  add_pair(app, code);
  add_pairs(app, code);
  add_schedule(app, code);
  add_experts(app, code);
  add_piper(app, code);
  add_completion(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      std::fputs(usage_error(app, error).c_str(), stderr);
      return kExitInput;
    }
    app.exit(error); // prints help or the version
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("error: cannot write to standard output");
    return kExitInput;
  }
  return code;
}
