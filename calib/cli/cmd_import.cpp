// tessella-calib import: measurements that other tools made, into raw rows, a class table, or a validation row.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/fit/csv.h"
#include "calib/import/deepep.h"
#include "calib/import/kineto.h"
#include "calib/import/nccl_tests.h"
#include "calib/import/train_log.h"
#include "calib/protocol/run_record.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct Flags {
  std::string file;
  std::string out;
  std::string op;
  std::string gpu;
  DeepEpSetting deepep;
  std::int64_t warmup = 5;
};

// To a file, or to standard output; what was left out goes to standard error.
void write_out(const Flags& flags, const std::string& text, const std::map<std::string, std::int64_t>& dropped) {
  if (flags.out.empty())
    fmt::print("{}", text);
  else
    write_file(flags.out, text);
  fmt::print(stderr, "{}", dropped_text(dropped));
}

// A folder as `tessella-calib run` fills it, so that `fit --run` reads it.
void write_run(const Flags& flags, const std::vector<RawRow>& rows) {
  if (flags.out.empty()) throw InputError("--gpu", "needs -o, the folder to write");
  if (std::filesystem::exists(flags.out + "/raw.csv"))
    throw InputError(flags.out, "has measurements already; choose another folder");
  std::filesystem::create_directories(flags.out);
  RunRecord record;
  record.device = {"cuda", flags.gpu, "", "", ""};
  record.date = utc_now();
  record.command = "tessella-calib import of " + flags.file;
  record.complete = true;
  write_file(flags.out + "/run.json", to_json(record));
  RawTable table(flags.out + "/raw.csv");
  for (const RawRow& row : rows) table.append(row);
}

int rows_out(const Flags& flags, const Imported& imported) {
  if (!flags.gpu.empty()) {
    write_run(flags, imported.rows);
    fmt::print(stderr, "{}{} rows\n", dropped_text(imported.dropped), imported.rows.size());
    return kExitOk;
  }
  std::string text = raw_header();
  for (const RawRow& row : imported.rows) text += to_csv(row);
  write_out(flags, text, imported.dropped);
  fmt::print(stderr, "{} rows\n", imported.rows.size());
  return kExitOk;
}

int kineto_out(const Flags& flags) {
  const TraceSummary summary = import_kineto(flags.file);
  write_out(flags, flags.out.empty() ? to_text(summary) : to_csv(summary), summary.dropped);
  if (!flags.out.empty()) fmt::print(stderr, "{}", to_text(summary));
  return kExitOk;
}

int log_out(const Flags& flags) {
  const TrainingRun run = import_training_log(flags.file, read_plain_or_gzip(flags.file), flags.warmup);
  write_out(flags, to_validation_csv(run, std::filesystem::path(flags.file).stem().string()), run.dropped);
  return kExitOk;
}

CLI::App* format(CLI::App& import, const std::shared_ptr<Flags>& flags, const char* name, const char* what) {
  CLI::App* c = import.add_subcommand(name, what);
  c->add_option("file", flags->file, "what the tool wrote; gzip is fine")->required()->check(CLI::ExistingFile);
  c->add_option("-o,--out", flags->out, "file (default: standard output)");
  return c;
}

} // namespace

void add_import(CLI::App& app, int& code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* import = app.add_subcommand("import", "measurements of other tools; what is left out is listed");
  import->require_subcommand(1);
  import->footer(
      "Models and experiments are imported by `tessella import`.\n"
      "Examples:\n"
      "  tessella-calib import nccl-tests all_reduce.log --op all_reduce --gpu \"NVIDIA H200\" -o build/nccl\n"
      "  tessella-calib import kineto trace.json.gz\n"
      "  tessella-calib import log train.log --warmup 10 >> my_runs.csv");
  const auto run = [flags, &code](CLI::App* c, const auto& command) {
    c->callback([flags, &code, command] { code = guarded([&] { return command(*flags); }); });
  };
  CLI::App* nccl = format(*import, flags, "nccl-tests", "table or JSON (-J) -> raw rows");
  nccl->add_option("--gpu", flags->gpu, "as the driver names it (\"NVIDIA H200\"): write a folder for fit --run");
  nccl->add_option("--op", flags->op, "all_reduce, all_gather, reduce_scatter, all_to_all or send_recv");
  run(nccl, [](const Flags& f) { return rows_out(f, import_nccl_tests(f.file, read_plain_or_gzip(f.file), f.op)); });
  CLI::App* deepep = format(*import, flags, "deepep", "'[tuning] Best' lines of its tests -> raw rows");
  deepep->add_option("--ranks", flags->deepep.ranks, "EP size of the test")->capture_default_str();
  deepep->add_option("--tokens", flags->deepep.tokens, "tokens per rank")->capture_default_str();
  deepep->add_option("--hidden", flags->deepep.hidden, "hidden size")->capture_default_str();
  deepep->add_option("--topk", flags->deepep.topk, "experts per token")->capture_default_str();
  run(deepep, [](const Flags& f) { return rows_out(f, import_deepep(f.file, read_plain_or_gzip(f.file), f.deepep)); });
  run(format(*import, flags, "kineto",
             "PyTorch profiler trace -> time by kernel class, overlap, exposed communication"),
      kineto_out);
  CLI::App* log = format(*import, flags, "log", "Megatron-LM or torchtitan log -> a validation row to complete");
  log->add_option("--warmup", flags->warmup, "steps left out at the beginning")->capture_default_str();
  run(log, log_out);
}

} // namespace tessella::calib
