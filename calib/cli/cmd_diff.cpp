// tessella-calib diff: what moved between two profiles.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/compare/profile_diff.h"
#include "sim/base/error.h"
#include "sim/config/catalog.h"
#include "sim/config/load.h"

namespace tessella::calib {
namespace {

struct Flags {
  std::string before;
  std::string after;
  double floor = 2.0;
  bool force = false;
  bool fail = false;
};

Profile find_profile(const std::string& name) {
  const auto here = std::filesystem::current_path();
  return load_profile(resolve(Catalog::profile, name, here, search_path(here), {"profile", 0, 0, 0, ""}));
}

int run(const Flags& flags) {
  const Profile before = find_profile(flags.before);
  const Profile after = find_profile(flags.after);
  const ProfileDiff diff = diff_profiles(before, after, 0.01 * flags.floor);
  if (!diff.warnings.empty() && !flags.force)
    throw InputError(flags.after, fmt::format("{}; --force compares them all the same", diff.warnings.front()));
  fmt::print("{}", to_text(diff));
  const bool moved =
      std::any_of(diff.entries.begin(), diff.entries.end(), [](const auto& e) { return e.beyond_noise; });
  return flags.fail && moved ? kExitThreshold : kExitOk;
}

} // namespace

void add_diff(CLI::App& app, int& code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* c = app.add_subcommand("diff", "what moved between two profiles, beyond noise");
  c->add_option("before", flags->before, "name or file of a profile")->required();
  c->add_option("after", flags->after, "the other")->required();
  c->add_option("--floor", flags->floor, "percent below which a change is noise")->capture_default_str();
  c->add_flag("--force", flags->force, "also profiles of different GPUs");
  c->add_flag("--fail", flags->fail, "exit with 1 when something moved beyond noise");
  c->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella::calib
