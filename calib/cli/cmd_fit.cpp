// tessella-calib fit: reads the raw tables of a GPU and writes profile.yaml, residuals.csv and residuals.svg.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/fit/recipe.h"
#include "calib/fit/write_profile.h"
#include "sim/base/error.h"
#include "sim/base/nearest.h"

namespace tessella::calib {
namespace {

struct FitOptions {
  std::string data;
  std::string gpu;
  std::string out;
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

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw InputError(path.string(), "cannot write");
}

void print_report(const Report& report) {
  for (const FitResult& r : report.results()) {
    if (!r.entry.residual) continue;
    fmt::print(stderr, "{:20} {:9} {:6}  median {:5.1f} %  p95 {:5.1f} %  {} held-out rows\n", r.entry.op,
               r.entry.dtype, r.entry.tier, 100.0 * r.entry.residual->median, 100.0 * r.entry.residual->p95,
               r.entry.residual->rows);
  }
  for (const Dropped& d : report.dropped()) fmt::print(stderr, "not used: {} rows of {}: {}\n", d.rows, d.op, d.why);
  for (const std::string& m : missing_entries(report)) fmt::print(stderr, "no table for: {}\n", m);
}

void run_fit(const FitOptions& options) {
  Report report(options.data, find_gpu(options.gpu));
  const std::filesystem::path folder = std::filesystem::path(options.out).lexically_normal();
  const std::string leaf =
      folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
  const Profile profile = fit_profile(report, options.gpu + "/" + leaf);
  std::filesystem::create_directories(folder);
  write_file(
      folder / "profile.yaml",
      profile_yaml(profile, "Written by `tessella-calib fit`; do not edit. README.md says how to regenerate it."));
  write_file(folder / "residuals.csv", residuals_csv(report.results()));
  print_report(report);
  const std::string plot = (folder / "residuals.svg").string();
  if (!plot_residuals(report.results(), profile.name, plot)) {
    fmt::print(stderr, "gnuplot is not installed: no {}\n", plot);
  }
}

} // namespace

void add_fit(CLI::App& app, int& code) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* fit = app.add_subcommand("fit", "fit the raw tables of one GPU into a profile");
  fit->add_option("--data", options->data, "folder of the raw tables")->required();
  fit->add_option("--gpu", options->gpu, "h100_sxm, h200_sxm, h800_sxm, a100_sxm, mi250x_gcd")->required();
  fit->add_option("-o,--out", options->out, "folder of the profile; its last part becomes part of the name")
      ->required();
  fit->callback([options, &code] {
    code = guarded([&] {
      run_fit(*options);
      return kExitOk;
    });
  });
}

} // namespace tessella::calib
