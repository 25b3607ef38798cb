// tessella list: what can be named in an experiment.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/config/catalog.h"
#include "sim/config/load.h"
#include "sim/cost/params.h"
#include "sim/domain/balancing.h"
#include "sim/exec/fill_policies.h"
#include "sim/planner/presets.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

void list_schedules() {
  for (const ScheduleInfo& row : schedule_table())
    fmt::print("{:<20} {}\n{:<20}   needs: {}\n", row.name, row.description, "", row.constraints);
}

void list_policies() {
  for (const FillPolicy& row : fill_policy_table()) fmt::print("{:<14} {}\n", row.name, row.description);
}

void list_presets() {
  for (const Preset& row : preset_table()) fmt::print("{:<22} {}\n", row.name, row.meaning);
}

// Patterns, and what each balancing method leaves of the spreads of a router that nothing balances.
void list_routing() {
  fmt::print("routing.preset\n");
  for (const RoutingPreset& row : routing_presets()) fmt::print("  {:<14} {}\n", row.name, row.meaning);
  fmt::print("\nrouting.balancing   experts   steps  micro-batches\n");
  for (const BalancingEffect& row : balancing_table())
    fmt::print("  {:<16} {:>8.3f}{:>8.3f}{:>15.2f}  {}\n", row.name, row.experts, row.steps, row.micro_batches,
               row.meaning);
}

std::filesystem::path file_of(Catalog catalog, const std::string& name, const SearchPath& path) {
  return resolve(catalog, name, std::filesystem::current_path(), path, SourceSpan{name, 0, 0, 0, {}});
}

void list_models(const SearchPath& path) {
  fmt::print("{:<24} {:>10} {:>10} {:>7}  {}\n", "model", "total", "active", "layers", "source");
  for (const std::string& name : available(Catalog::model, path)) {
    const Model m = load_model(file_of(Catalog::model, name, path));
    const ModelSize size = model_size(m);
    fmt::print("{:<24} {:>8.2f} B {:>8.2f} B {:>7}  {}{}\n", name, static_cast<double>(size.total) * 1e-9,
               static_cast<double>(size.active) * 1e-9, m.num_layers(), m.assumed ? "ASSUMED: " : "", m.source);
  }
}

void list_topologies(const SearchPath& path) {
  fmt::print("{:<24} {:>7} {:>11}  {}\n", "topology", "GPUs", "GPU", "source");
  for (const std::string& name : available(Catalog::topology, path)) {
    const Cluster c = load_topology(file_of(Catalog::topology, name, path));
    fmt::print("{:<24} {:>7} {:>11}  {}\n", name, c.num_gpus(), c.gpu, c.source);
  }
}

void list_profiles(const SearchPath& path) {
  for (const std::string& name : available(Catalog::profile, path)) {
    const Profile p = load_profile(file_of(Catalog::profile, name, path));
    int count[kNumProvenances] = {};
    for (const ProfileEntry& e : p.entries) ++count[static_cast<std::size_t>(e.provenance)];
    fmt::print("{:<46} GPU {}; {} entries:", name, p.gpu.name, p.entries.size());
    for (int i = 0; i < kNumProvenances; ++i)
      if (count[i] > 0) fmt::print(" {} {}", count[i], tessella::name(static_cast<Provenance>(i)));
    fmt::print("\n");
  }
}

int list(const std::string& what) {
  const SearchPath path = search_path(std::filesystem::current_path());
  if (what == "schedules") list_schedules();
  if (what == "policies") list_policies();
  if (what == "presets") list_presets();
  if (what == "routing") list_routing();
  if (what == "models") list_models(path);
  if (what == "topologies") list_topologies(path);
  if (what == "profiles") list_profiles(path);
  return kExitOk;
}

} // namespace

void add_list(CLI::App& app, int& code) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "list", "Show what can be named: schedules, models, topologies, profiles, policies, presets, routing");
  command->add_option("what", *what, "which table")
      ->required()
      ->check(CLI::IsMember({"schedules", "models", "topologies", "profiles", "policies", "presets", "routing"}));
  command->footer("Example:\n  tessella list models");
  command->callback([what, &code] { code = guarded([&] { return list(*what); }); });
}

} // namespace tessella
