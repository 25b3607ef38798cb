// tessella-calib fit: from published tables of a GPU, or from a run of our own, to profile.yaml, residuals.csv and
// residuals.svg.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "calib/bench/model_shapes.h"
#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/fit/recipe.h"
#include "calib/fit/write_profile.h"
#include "calib/measured/coverage.h"
#include "calib/measured/fit_run.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/base/nearest.h"
#include "sim/config/catalog.h"
#include "sim/config/load.h"

namespace tessella::calib {
namespace {

struct FitOptions {
  std::string data;
  std::string gpu;
  std::string out;
  std::string run;
  std::string base;
  std::string model;
  bool force = false;
};

const GpuSource& find_gpu(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const GpuSource& g : gpu_table()) {
    if (g.spec.name == name) return g;
    names.push_back(g.spec.name);
    list += (list.empty() ? "" : ", ") + g.spec.name;
  }
  throw InputError("--gpu", fmt::format("unknown GPU '{}'{}; known: {}", name, did_you_mean(name, names), list));
}

std::string leaf_of(const std::filesystem::path& folder) {
  return folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
}

void print_fits(const std::vector<FitResult>& results, const std::vector<Dropped>& dropped) {
  for (const FitResult& r : results) {
    if (!r.entry.residual) continue;
    fmt::print(stderr, "{:20} {:9} {:6}  median {:5.1f} %  p95 {:5.1f} %  {} rows\n", r.entry.op, r.entry.dtype,
               r.entry.tier, 100.0 * r.entry.residual->median, 100.0 * r.entry.residual->p95, r.entry.residual->rows);
  }
  for (const Dropped& d : dropped) fmt::print(stderr, "not used: {} rows of {}: {}\n", d.rows, d.op, d.why);
}

void write_fit(const std::filesystem::path& folder, const Profile& profile, const std::vector<FitResult>& results) {
  std::filesystem::create_directories(folder);
  write_file(
      (folder / "profile.yaml").string(),
      profile_yaml(profile, "Written by `tessella-calib fit`; do not edit. README.md says how to regenerate it."));
  write_file((folder / "residuals.csv").string(), residuals_csv(results));
  const std::string plot = (folder / "residuals.svg").string();
  if (!plot_residuals(results, profile.name, plot)) fmt::print(stderr, "gnuplot is not installed: no {}\n", plot);
}

void print_coverage(const std::string& name, const Profile& profile) {
  if (name.empty()) return;
  const auto here = std::filesystem::current_path();
  const Model model = load_model(resolve(Catalog::model, name, here, search_path(here), {"--model", 0, 0, 0, ""}));
  ShapeOptions shapes;
  shapes.fp8 = profile.gpu.fp8_peak.flops_per_second > 0.0;
  fmt::print("coverage of {}: {}", model.name, to_text(coverage_of(profile, model_shapes(model, shapes))));
}

void fit_tables(const FitOptions& options, const std::filesystem::path& folder) {
  Report report(options.data, find_gpu(options.gpu));
  const Profile profile = fit_profile(report, options.gpu + "/" + leaf_of(folder));
  write_fit(folder, profile, report.results());
  print_fits(report.results(), report.dropped());
  for (const std::string& m : missing_entries(report)) fmt::print(stderr, "no table for: {}\n", m);
  print_coverage(options.model, profile);
}

// A fit never writes over measurements that were made earlier under this name.
void fit_own(const FitOptions& options, const std::filesystem::path& folder) {
  const RunRecord record = read_run_record(options.run + "/run.json");
  if (std::filesystem::exists(folder / "profile.yaml") && !options.force)
    throw InputError(folder.string(), "has a profile already; profiles are never changed, choose another folder");
  std::optional<Profile> base;
  if (!options.base.empty()) {
    const auto here = std::filesystem::current_path();
    base = load_profile(resolve(Catalog::profile, options.base, here, search_path(here), {"--base", 0, 0, 0, ""}));
  }
  const std::string gpu = record.device.backend == "host" ? "host_core" : profile_gpu(record.device.gpu);
  const RunFit fit =
      fit_run(record, read_raw(options.run + "/raw.csv"), (gpu.empty() ? "gpu" : gpu) + "/" + leaf_of(folder),
              base ? &*base : nullptr, options.force);
  write_fit(folder, fit.profile, fit.results);
  print_fits(fit.results, fit.dropped);
  print_coverage(options.model, fit.profile);
  if (!record.complete)
    fmt::print(stderr, "the run is not complete: {} shapes were left out\n", record.left_out.size());
  for (const std::string& other : record.mixed_with)
    fmt::print(stderr, "marked: the folder also has rows of {}\n", other);
}

void run_fit(const FitOptions& options) {
  const std::filesystem::path folder = std::filesystem::path(options.out).lexically_normal();
  if (!options.run.empty()) return fit_own(options, folder);
  if (options.data.empty() || options.gpu.empty())
    throw InputError("fit", "either --run FOLDER of a run of your own, or --data FOLDER and --gpu of published tables");
  fit_tables(options, folder);
}

} // namespace

void add_fit(CLI::App& app, int& code) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* fit = app.add_subcommand("fit", "fit measurements of one GPU or host into a profile");
  fit->add_option("--run", options->run, "folder that `tessella-calib run` filled");
  fit->add_option("--base", options->base, "profile to start from and for what was not measured (GPUs only)");
  fit->add_option("--data", options->data, "folder of published tables");
  fit->add_option("--gpu", options->gpu, "h100_sxm, h200_sxm, h800_sxm, a100_sxm, mi250x_gcd; with --data");
  fit->add_option("--model", options->model, "say what the costs of this model then rest on");
  fit->add_flag("--force", options->force, "a base of another GPU (every entry is marked); an existing profile");
  fit->add_option("-o,--out", options->out, "folder of the profile; its last part becomes part of the name")
      ->required();
  fit->footer("Examples:\n"
              "  tessella-calib fit --run build/my_host -o build/my_host\n"
              "  tessella-calib fit --run calib/profiles/h200_sxm/DATE-run --base h200_sxm/2026-11-29-published \\\n"
              "    -o calib/profiles/h200_sxm/DATE-run\n"
              "  tessella-calib fit --data ../shared/data --gpu h100_sxm -o calib/profiles/h100_sxm/DATE-published");
  fit->callback([options, &code] {
    code = guarded([&] {
      run_fit(*options);
      return kExitOk;
    });
  });
}

} // namespace tessella::calib
