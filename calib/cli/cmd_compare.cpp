// tessella-calib compare: our times beside published ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/measured/reference.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct Flags {
  std::string run;
  std::string reference;
  double max_error = 0.0;
};

int run(const Flags& flags) {
  const ReferenceResult result = compare_reference(read_reference(flags.reference), read_raw(flags.run + "/raw.csv"));
  if (result.points.empty()) throw InputError(flags.run, "none of the published kernels was measured");
  fmt::print("{}", to_text(result));
  return flags.max_error > 0.0 && result.median_abs > 0.01 * flags.max_error ? kExitThreshold : kExitOk;
}

} // namespace

void add_compare(CLI::App& app, int& code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* c = app.add_subcommand("compare", "measured kernel times beside published ones");
  c->add_option("run", flags->run, "folder that `tessella-calib run --reference` filled")->required();
  c->add_option("reference", flags->reference, "CSV of published kernel times")->required();
  c->add_option("--max-error", flags->max_error, "exit with 1 when the median difference exceeds so many percent")
      ->check(CLI::Range(0.0, 1e6));
  c->footer("Example:\n  tessella-calib compare DIR calib/reference/h200_gemm.csv --max-error 10");
  c->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella::calib
