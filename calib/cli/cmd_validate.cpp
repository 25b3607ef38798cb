// tessella-calib validate: execute small pipelines on this machine, simulate them from what was just measured, compare.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/device/gpu_loop.h"
#include "calib/device/gpu_pair.h"
#include "calib/device/machine.h"
#include "calib/host/crew.h"
#include "calib/loop/child.h"
#include "calib/loop/validate.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/base/nearest.h"

namespace tessella::calib {
namespace {

struct Flags {
  std::string folder;
  std::string tessella;
  std::vector<std::string> plans;
  int rounds = 3;
  int steps = 8;
  bool realtime = false;
  double max_error = 0.0;
  std::string json;
  std::string backend = "host";
};

std::vector<LoopPlan> chosen_plans(const Flags& flags, const LoopModel& model, int ranks) {
  const std::vector<LoopPlan> all = default_plans(model, ranks);
  if (all.empty()) throw InputError("validate", "a pipeline needs at least 2 cores, this process may use 1");
  if (flags.plans.empty()) return all;
  std::vector<std::string> names;
  std::string list;
  for (const LoopPlan& p : all) {
    names.push_back(p.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", p.name);
  }
  std::vector<LoopPlan> chosen;
  for (const std::string& name : flags.plans) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      throw InputError("--plans", fmt::format("no plan '{}'{}; there are {}", name, did_you_mean(name, names), list));
    chosen.push_back(all[static_cast<std::size_t>(it - names.begin())]);
  }
  return chosen;
}

// One overlapped forward-backward pair on a GPU.
int run_pair(const Flags& flags) {
  PairResult r;
  try {
    r = run_gpu_pair(PairSpec{}, 0);
  } catch (const NoDevice& error) {
    throw InputError("--backend", error.what());
  }
  std::string text;
  for (const std::string& line : r.details) text += line + "\n";
  text += fmt::format("pair: {:.1f} us one after another, {:.1f} us executed (MAD {:.1f} us), {:.1f} us predicted, "
                      "error {:+.1f} %\n",
                      1e6 * r.serial, 1e6 * r.executed, 1e6 * r.mad, 1e6 * r.predicted, 100.0 * r.error);
  fmt::print("{}", text);
  std::filesystem::create_directories(flags.folder);
  write_file(flags.folder + "/pair.txt", text);
  return flags.max_error > 0.0 && std::abs(r.error) > 0.01 * flags.max_error ? kExitThreshold : kExitOk;
}

// Executes and compares; on the host without a machine.
int run_loop(const Flags& flags, const LoopModel& model, const std::vector<LoopPlan>& plans, LoopMachine* machine) {
  ValidateOptions options;
  options.folder = flags.folder;
  options.tessella = flags.tessella.empty() ? sibling_program("tessella") : flags.tessella;
  if (options.tessella.empty())
    throw InputError("--tessella", "the program tessella is not beside this one; say where it is");
  options.model = model;
  options.plans = plans;
  options.machine = machine;
  options.rounds = flags.rounds;
  options.steps = flags.steps;
  options.realtime = flags.realtime;
  options.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const Validation v = validate(options);
  if (flags.json != "-") fmt::print("{}", to_text(v));
  if (flags.json == "-")
    fmt::print("{}", to_json(v));
  else if (!flags.json.empty())
    write_file(flags.json, to_json(v));
  if (flags.realtime && !v.realtime)
    fmt::print(stderr, "real-time priority was not granted; other programs may have disturbed the steps\n");
  if (v.drift > 0.1)
    fmt::print(stderr, "this machine's own times differ by {:.0f} % from round to round, so the errors say little{}\n",
               100.0 * v.drift, v.realtime ? "" : "; --realtime helps where other programs run");
  if (flags.max_error <= 0.0 || v.median_abs_error <= 0.01 * flags.max_error) return kExitOk;
  fmt::print(stderr, "median error {:.1f} % is above --max-error {:g} %\n", 100.0 * v.median_abs_error,
             flags.max_error);
  return kExitThreshold;
}

// Pipelines on several GPUs; on one, what one can execute.
int run_gpus(const Flags& flags) {
  if (gpu_count() < 2) {
    const int code = run_pair(flags);
    fmt::print(stderr,
               "one GPU: no pipeline was executed, no message between stages and no all-to-all; they need two\n");
    return code;
  }
  const LoopModel model = gpu_loop_model();
  const std::vector<LoopPlan> plans = chosen_plans(flags, model, gpu_count());
  try {
    const std::unique_ptr<LoopMachine> gpus = gpu_loop(model, plans);
    return run_loop(flags, model, plans, gpus.get());
  } catch (const NoDevice& error) {
    throw InputError("--backend", error.what());
  }
}

int run(const Flags& flags) {
  if (flags.backend == "cuda") return run_gpus(flags);
  const LoopModel model;
  return run_loop(flags, model, chosen_plans(flags, model, static_cast<int>(usable_cpus().size())), nullptr);
}

} // namespace

void add_validate(CLI::App& app, int& code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("validate", "really execute small pipelines and compare with their simulation");
  command->add_option("-o,--out", flags->folder, "folder for everything it writes; new or empty")->required();
  command
      ->add_option("--backend", flags->backend,
                   "host: pipelines of threads; cuda: pipelines of GPUs, on a single one an overlapped pair")
      ->check(CLI::IsMember({"host", "cuda"}))
      ->capture_default_str();
  command->add_option("--tessella", flags->tessella, "the simulator (default: beside this program)")->type_name("FILE");
  command->add_option("--plans", flags->plans, "only these (default: all that fit the cores)")->delimiter(',');
  command->add_option("--rounds", flags->rounds, "turns of measuring and executing")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--steps", flags->steps, "undisturbed steps per plan and round")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--realtime", flags->realtime, "ask for real-time priority: for a machine that others use too");
  command->add_option("--max-error", flags->max_error, "exit with 1 when the median error exceeds so many percent")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--json", flags->json, "result as JSON; - for standard output")->type_name("FILE");
  command->footer("Writes raw.csv, profile.yaml, and for each plan its experiment and PLAN.side_by_side.trace.json\n"
                  "(for ui.perfetto.dev). By default on the CPU with threads as ranks; needs no GPU.\n"
                  "Example:\n  tessella-calib validate -o build/closed_loop --realtime");
  command->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella::calib
