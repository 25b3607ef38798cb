// tessella report: a result, or two beside each other, as one HTML file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/html_file.h"
#include "sim/config/read_result.h"
#include "sim/report/comparison.h"

namespace tessella {
namespace {

struct ReportFlags {
  std::vector<std::string> results;
  std::string output;
};

void refuse_experiment(const std::string& file) {
  if (!file.ends_with(".yaml") && !file.ends_with(".yml")) return;
  throw InputError(file,
                   "is not a result of tessella run --json; an experiment gets its report when it runs: tessella run " +
                       file + " --report out.html");
}

// "out.json" -> "out.html".
std::string output_of(const ReportFlags& flags) {
  if (!flags.output.empty()) return flags.output;
  const std::string& first = flags.results.front();
  return (first.ends_with(".json") ? first.substr(0, first.size() - 5) : first) + ".html";
}

int report(const ReportFlags& flags) {
  std::vector<ReportInput> inputs;
  std::vector<FlatResult> values;
  for (const std::string& file : flags.results) {
    refuse_experiment(file);
    std::string text = read_result_file(file);
    values.push_back(read_result_text(file, text));
    inputs.push_back({file, std::move(text)});
  }
  const std::string comparison = values.size() == 2 ? comparison_json(compare(values[0], values[1])) : "";
  const std::string output = output_of(flags);
  if (!write_report(output, inputs, comparison)) return kExitInput;
  if (output != "-") fmt::print("{}\n", output);
  return kExitOk;
}

} // namespace

void add_report(CLI::App& app, int& code) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand("report", "One or two results as an HTML file that opens without a network");
  command->add_option("results", flags->results, "result of run --json; with a second one they are compared")
      ->required()
      ->expected(1, 2)
      ->type_name("RESULT.json");
  command->add_option("-o,--output", flags->output, "where to write; - for standard output; default: beside the result")
      ->type_name("FILE.html");
  command->footer("Examples:\n"
                  "  tessella run exp.yaml --json a.json --detail     # --detail: with every rank and a timeline\n"
                  "  tessella report a.json -o a.html\n"
                  "  tessella report a.json b.json -o compare.html");
  command->callback([flags, &code] { code = guarded([&] { return report(*flags); }); });
}

} // namespace tessella
