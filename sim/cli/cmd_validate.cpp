// tessella validate: predict measured runs and say how far off.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/progress.h"
#include "sim/config/catalog.h"
#include "sim/config/dump.h"
#include "sim/config/load.h"
#include "sim/config/validation_csv.h"
#include "sim/engine/parallel.h"
#include "sim/planner/validate/calibrate.h"
#include "sim/planner/validate/measured_cluster.h"
#include "sim/planner/validate/training_profile.h"
#include "sim/planner/validate/validate.h"
#include "sim/report/validation.h"

namespace tessella {
namespace {

struct ValidateFlags {
  std::string file;
  std::string names;
  std::string json;
  std::string csv;
  std::string calibrate;
  std::string taught_by;
  std::string profile; // file to write
  std::string left_out;
  double max_error = 0.0;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

namespace fs = std::filesystem;

// The newest profile of each GPU that the rows use, by name; one that such rows taught is not judged on them.
std::map<std::string, Profile> load_profiles(const std::vector<MeasuredRun>& runs, const fs::path& dir,
                                             const SearchPath& path) {
  const std::vector<std::string> names = available(Catalog::profile, path);
  std::map<std::string, Profile> profiles;
  for (const MeasuredRun& run : runs) {
    const auto gpu = profile_gpu(run.gpu);
    if (!gpu || profiles.count(*gpu) != 0) continue;
    for (auto name = names.rbegin(); name != names.rend() && profiles.count(*gpu) == 0; ++name) {
      if (name->substr(0, name->find('/')) != *gpu) continue;
      Profile profile = load_profile(resolve(Catalog::profile, *name, dir, path, {}));
      if (!knows_training_runs(profile)) profiles.emplace(*gpu, std::move(profile));
    }
  }
  return profiles;
}

// models.csv beside the file, else experiments/validation/models.csv of a home; a name may also be one of models/.
std::vector<ModelAlias> find_aliases(const std::string& flag, const fs::path& dir, const SearchPath& path) {
  if (!flag.empty()) return load_model_aliases(flag);
  std::vector<fs::path> places = {dir / "models.csv"};
  for (const fs::path& home : path) places.push_back(home / "experiments" / "validation" / "models.csv");
  for (const fs::path& place : places)
    if (fs::exists(place)) return load_model_aliases(place);
  return {};
}

void load_models(ValidationInput& input, const std::vector<ModelAlias>& aliases, const fs::path& dir,
                 const SearchPath& path) {
  const std::vector<std::string> known = available(Catalog::model, path);
  std::map<std::string, std::string> file_of;
  for (const ModelAlias& a : aliases) {
    if (a.model.empty())
      input.no_model[a.name] = a.reason;
    else
      file_of[a.name] = a.model;
  }
  for (const MeasuredRun& run : input.runs) {
    if (input.models.count(run.model) != 0) continue;
    auto name = file_of.find(run.model);
    if (name == file_of.end() && std::find(known.begin(), known.end(), run.model) != known.end())
      name = file_of.emplace(run.model, run.model).first;
    if (name == file_of.end()) continue;
    const SourceSpan where{"models.csv", 0, 0, 0, {}};
    input.models.emplace(run.model, load_model(resolve(Catalog::model, name->second, dir, path, where)));
  }
}

void add_runs(std::string& out, const std::vector<CalibratedRun>& runs) {
  for (const CalibratedRun& r : runs) {
    if (!r.reason.empty()) {
      fmt::format_to(std::back_inserter(out), "  {:<28} not modelled: {}\n", r.id, r.reason);
      continue;
    }
    fmt::format_to(std::back_inserter(out), "  {:<28}{:>10.4g} s  [{:.4g}, {:.4g}]  raw {:.4g} s", r.id, r.predicted_s,
                   r.low_s, r.high_s, r.raw_s);
    if (r.measured_s)
      fmt::format_to(std::back_inserter(out), "  measured {:.4g} s, {:+.2f} %", *r.measured_s,
                     100 * (r.predicted_s / *r.measured_s - 1));
    out += '\n';
  }
}

std::string calibration_text(const CalibrationReport& report) {
  std::string out = "factors\n";
  for (std::size_t k = 0; k < report.factors.size(); ++k)
    fmt::format_to(std::back_inserter(out), "  {:<12}{:>6.2f}  {}\n", factor_table()[k].name, report.factors[k],
                   factor_table()[k].meaning);
  out += "calibrated on (residuals)\n";
  add_runs(out, report.measured);
  out += "predicted\n";
  add_runs(out, report.predicted);
  return out;
}

fs::path folder_of(const std::string& file) {
  const fs::path dir = fs::path(file).parent_path();
  return dir.empty() ? "." : dir;
}

ForEach on_threads(unsigned threads) {
  return [threads](std::size_t n, const std::function<void(std::size_t)>& task) { parallel_for(n, threads, task); };
}

// GPUs without a profile stand in for themselves by their data sheets: calibration measures them right away.
void add_stand_ins(ValidationInput& input, const std::vector<MeasuredRun>& runs, const fs::path& dir,
                   const SearchPath& path) {
  MeasuredRun h100;
  h100.gpu = "H100";
  const auto reference = load_profiles({h100}, dir, path);
  for (const MeasuredRun& run : runs) {
    const auto gpu = profile_gpu(run.gpu);
    if (!gpu || input.profiles.count(*gpu) != 0 || reference.empty()) continue;
    if (auto stand_in = stand_in_profile(*gpu, reference.begin()->second)) input.profiles.emplace(*gpu, *stand_in);
  }
}

int run_calibration(const ValidateFlags& flags) {
  const std::vector<MeasuredRun> shorts = load_measured_runs(flags.calibrate);
  const std::vector<MeasuredRun> longs = load_measured_runs(flags.file);
  std::vector<MeasuredRun> all = shorts;
  all.insert(all.end(), longs.begin(), longs.end());
  const fs::path dir = folder_of(flags.file);
  const SearchPath path = search_path(dir);
  ValidationInput input;
  input.runs = all;
  load_models(input, find_aliases(flags.names, dir, path), dir, path);
  input.profiles = load_profiles(all, dir, path);
  add_stand_ins(input, all, dir, path);
  input.runs = shorts;
  fmt::print("{}", calibration_text(calibrate(input, longs, on_threads(flags.threads))));
  return kExitOk;
}

// GPU/NAME of .../GPU/NAME/profile.yaml: what the file will be found by.
void write_training_profile(const ValidateFlags& flags, const ValidationInput& input, const ValidationReport& report) {
  const fs::path folder = fs::absolute(fs::path(flags.profile)).lexically_normal().parent_path();
  const std::string gpu = folder.parent_path().filename().string();
  const auto kernels = input.profiles.find(gpu);
  if (fs::path(flags.profile).filename() != "profile.yaml" || kernels == input.profiles.end()) {
    std::string known;
    for (const auto& [name, profile] : input.profiles) known += (known.empty() ? "" : ", ") + name;
    throw InputError(
        "--write-profile",
        fmt::format("expected .../GPU/NAME/profile.yaml with one of the GPUs {}, found '{}'", known, flags.profile));
  }
  TrainingProfileSpec spec;
  spec.name = gpu + "/" + folder.filename().string();
  spec.runs = fs::path(flags.file).lexically_normal().generic_string();
  if (!flags.left_out.empty()) spec.left_out = flags.left_out;
  const std::string text = to_yaml(training_profile(kernels->second, report, spec));
  fs::create_directories(folder);
  write_file(flags.profile,
             fmt::format("# {} with what measured training runs taught; written by\n#   tessella validate {} "
                         "--write-profile FILE{}\n",
                         kernels->second.name, spec.runs, spec.left_out ? " --leave-out " + *spec.left_out : "") +
                 text);
}

int run(const ValidateFlags& flags) {
  if (!flags.calibrate.empty()) return run_calibration(flags);
  const Progress clock("validating");
  std::vector<MeasuredRun> runs = load_measured_runs(flags.file);
  const std::size_t reported = runs.size();
  if (!flags.taught_by.empty()) {
    const std::vector<MeasuredRun> teachers = load_measured_runs(flags.taught_by);
    runs.insert(runs.end(), teachers.begin(), teachers.end());
  }
  const fs::path dir = folder_of(flags.file);
  const SearchPath path = search_path(dir);
  ValidationInput input;
  input.runs = runs;
  load_models(input, find_aliases(flags.names, dir, path), dir, path);
  input.profiles = load_profiles(runs, dir, path);
  input.runs = std::span(runs).first(reported);
  input.taught_by = std::span(runs).subspan(reported);
  ValidationReport report = validate(input, on_threads(flags.threads));
  report.wall_s = clock.seconds();
  if (!flags.csv.empty()) write_file(flags.csv, validation_csv(report));
  if (!flags.profile.empty()) write_training_profile(flags, input, report);
  if (flags.json == "-")
    fmt::print("{}", validation_json(report));
  else if (!flags.json.empty())
    write_file(flags.json, validation_json(report));
  if (flags.json != "-") fmt::print("{}", validation_text(report));
  if (flags.max_error > 0.0 && report.overall.median_abs_error > flags.max_error) {
    fmt::print(stderr, "median absolute error {:.1f} % is above {:.1f} %\n", 100 * report.overall.median_abs_error,
               100 * flags.max_error);
    return kExitThreshold;
  }
  return kExitOk;
}

} // namespace

void add_validate(CLI::App& app, int& code) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* command = app.add_subcommand("validate", "Predict measured runs: errors, rank correlation, intervals");
  command->add_option("file", flags->file, "CSV of measured runs (columns: experiments/validation/README.md)")
      ->required()
      ->type_name("FILE.csv");
  command->add_option("--names", flags->names, "CSV of model names; default: models.csv beside the file")
      ->type_name("FILE.csv");
  command->add_option("--json", flags->json, "report as JSON; - for standard output")->type_name("FILE");
  command->add_option("--csv", flags->csv, "one line per row")->type_name("FILE");
  CLI::Option* calibrate =
      command->add_option("--calibrate", flags->calibrate, "fit the factors to these runs, then predict those of FILE")
          ->type_name("SHORT.csv");
  CLI::Option* taught_by =
      command
          ->add_option("--taught-by", flags->taught_by,
                       "factors and intervals from these runs alone; those of FILE are only judged")
          ->excludes(calibrate)
          ->type_name("RUNS.csv");
  CLI::Option* profile =
      command
          ->add_option("--write-profile", flags->profile, "the profile of a GPU with the fitted factors and accuracy")
          ->excludes(calibrate)
          ->excludes(taught_by)
          ->type_name("GPU/NAME/profile.yaml");
  command->add_option("--leave-out", flags->left_out, "with factors and accuracy that this group did not teach")
      ->needs(profile)
      ->type_name("GROUP");
  command->add_option("--max-error", flags->max_error, "exit 1 when the median absolute error is above, e.g. 0.1")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->footer("Examples:\n  tessella validate experiments/validation/runs.csv --csv errors.csv\n"
                  "  tessella validate long.csv --calibrate short.csv\n"
                  "  tessella validate experiments/validation/unseen.csv --taught-by experiments/validation/runs.csv\n"
                  "  tessella validate experiments/validation/runs.csv --write-profile "
                  "calib/profiles/h100_sxm/2026-11-30-training/profile.yaml");
  command->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella
