// The program `tessella-calib`: all wiring of commands in one place.
#include <CLI/CLI.hpp>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"

int main(int argc, char** argv) {
  using namespace tessella::calib;
  CLI::App app{"Calibration of Tessella: measure this machine, fit profiles, prove the simulator on it.\n"
               "Without a GPU: tessella-calib validate -o build/closed_loop",
               "tessella-calib"};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done; 1 a threshold was missed; 2 wrong input or machine; 4 a cost is missing;\n"
             "70 a bug of ours; 130 interrupted.");
  int code = kExitOk;
  add_run(app, code);
  add_fit(app, code);
  add_validate(app, code);
  add_compare(app, code);
  add_diff(app, code);
  add_import(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitInput;
  }
  return code;
}
