// tessella collective: what a collective or an expert exchange takes, in nccl-tests' columns, beside what the links
// allow and beside what was measured.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/config/catalog.h"
#include "sim/config/load.h"
#include "sim/config/nccl_log.h"
#include "sim/config/quantity.h"
#include "sim/cost/collective_table.h"
#include "sim/topology/groups.h"

namespace tessella {
namespace {

struct CollectiveFlags {
  std::string op;
  std::string topology;
  std::string profile;
  std::string algorithm = "flat";
  std::string dispatcher = "alltoall";
  std::string first = "1 MiB";
  std::string last = "1 GiB";
  std::string measured;
  std::int64_t ranks = 0;
  std::int64_t stride = 1;
  ExpertTraffic traffic{7168, 2.0, 256, 8, 0, 0};
  std::int64_t first_tokens = 128;
  std::int64_t last_tokens = 8192;
  bool fp8 = false;
};

constexpr std::array kCollectives = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                     Collective::all_to_all, Collective::send_recv};
constexpr std::array kAlgorithms = {Algorithm::flat, Algorithm::hierarchical, Algorithm::halo};
constexpr std::array kDispatchers = {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::deepep,
                                     Dispatcher::hybridep};

// The value whose name is `text`; CLI11 has checked that there is one.
template <class Values>
auto named(const Values& values, const std::string& text) {
  return *std::find_if(values.begin(), values.end(), [&](const auto v) { return text == name(v); });
}

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto v : values) names.emplace_back(name(v));
  return names;
}

GroupSpan group_of(const CollectiveFlags& flags, const Cluster& cluster) {
  const std::int64_t n = flags.ranks > 0 ? flags.ranks : cluster.num_gpus() / flags.stride;
  if (n < 1 || (n - 1) * flags.stride >= cluster.num_gpus())
    throw InputError("--ranks", fmt::format("{} ranks with stride {} do not fit into the {} GPUs of {}", n,
                                            flags.stride, cluster.num_gpus(), cluster.name));
  std::vector<Rank> ranks;
  for (std::int64_t i = 0; i < n; ++i) ranks.emplace_back(static_cast<std::int32_t>(i * flags.stride));
  return span_of_ranks(cluster, ranks);
}

std::string describe(const CollectiveFlags& flags, const Cluster& cluster, const GroupSpan& s) {
  std::string text = fmt::format("# {} over ", flags.op);
  text += fmt::format("{} ranks of {}: {} node{} x {}", s.ranks, cluster.name, s.nodes, s.nodes == 1 ? "" : "s",
                      s.ranks_per_node);
  if (s.leaves > 1) text += fmt::format(", {} leaf groups", s.leaves);
  if (s.nodes > 1 && s.same_rail) text += ", one rail";
  return text + (flags.profile.empty() ? "; wire speed, no profile\n" : fmt::format("; profile {}\n", flags.profile));
}

double gb(Bandwidth b) {
  return b.bytes_per_second * 1e-9;
}

const NcclRow* measured_at(const std::vector<NcclRow>& log, Bytes size) {
  const auto row = std::find_if(log.begin(), log.end(), [&](const NcclRow& r) { return r.size == size; });
  return row == log.end() ? nullptr : &*row;
}

// A measurement far below the links is the user's to know.
void warn_if_slow(const std::vector<NcclRow>& log, const std::vector<CollectiveRow>& bound, double factor) {
  const CollectiveRow& ideal = bound.back();
  const NcclRow* m = measured_at(log, ideal.size);
  if (m == nullptr || std::isinf(ideal.busbw.bytes_per_second)) return;
  const double busbw = static_cast<double>(m->size.count) / m->seconds * factor;
  const double share = busbw / ideal.busbw.bytes_per_second;
  if (share > 0.5 && share <= 1.0) return;
  fmt::print(
      stderr, "warning: measured busbw {:.4g} GB/s is {:.0f} % of the ideal {:.4g} GB/s that the links allow{}\n",
      busbw * 1e-9, 100 * share, gb(ideal.busbw), share > 1.0 ? "; the topology is not the one that was measured" : "");
}

void print_collective(const CollectiveFlags& flags, const Cluster& cluster, const CollectiveModel& model,
                      const GroupSpan& span) {
  const Collective c = named(kCollectives, flags.op);
  const Algorithm a = named(kAlgorithms, flags.algorithm);
  const std::vector<NcclRow> log = flags.measured.empty() ? std::vector<NcclRow>{} : load_nccl_log(flags.measured);
  std::vector<Bytes> sizes;
  for (const NcclRow& row : log) sizes.push_back(row.size);
  if (log.empty())
    sizes = doubling_sizes(parse_bytes(flags.first, SourceSpan{"--min", 0, 0, 0, {}}),
                           parse_bytes(flags.last, SourceSpan{"--max", 0, 0, 0, {}}));
  if (sizes.empty()) throw InputError("--max", "no size between --min and --max");
  const auto rows = collective_table(model, c, span, sizes, a);
  const auto bound = collective_table(CollectiveModel(cluster), c, span, sizes);
  const auto flat = a == Algorithm::flat ? rows : collective_table(model, c, span, sizes);
  const char* gain[] = {a == Algorithm::flat ? "" : "   flat is", a == Algorithm::flat ? "" : "    slower"};
  fmt::print("#{:>13} {:>12} {:>10} {:>10} {:>10}{}{}\n", "size", "time", "algbw", "busbw", "links", gain[0],
             log.empty() ? "" : "   measured      busbw  predicted");
  fmt::print("#{:>13} {:>12} {:>10} {:>10} {:>10}{}{}\n", "(B)", "(us)", "(GB/s)", "(GB/s)", "(GB/s)", gain[1],
             log.empty() ? "" : "       (us)     (GB/s)      error");
  const double factor = busbw_factor(c, span.ranks);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveRow& r = rows[i];
    fmt::print(" {:>13} {:>12.2f} {:>10.2f} {:>10.2f} {:>10.2f}", r.size.count, r.time.seconds() * 1e6, gb(r.algbw),
               gb(r.busbw), gb(bound[i].busbw));
    if (a != Algorithm::flat) fmt::print(" {:>7.2f} x", flat[i].time.seconds() / r.time.seconds());
    if (!log.empty())
      fmt::print(" {:>10.2f} {:>10.2f} {:>+8.1f} %", log[i].seconds * 1e6,
                 static_cast<double>(r.size.count) / log[i].seconds * factor * 1e-9,
                 100 * (r.time.seconds() / log[i].seconds - 1));
    fmt::print("\n");
  }
  if (!log.empty()) warn_if_slow(log, bound, factor);
}

void print_exchange(const CollectiveFlags& flags, const Cluster& cluster, const CollectiveModel& model,
                    const GroupSpan& span) {
  ExpertTraffic traffic = flags.traffic;
  if (flags.fp8) traffic.bytes_per_element = 1.0 + 4.0 / 128.0;
  if (traffic.router_topk > traffic.num_experts)
    throw InputError("--topk", fmt::format("{} of {} experts", traffic.router_topk, traffic.num_experts));
  std::vector<std::int64_t> tokens;
  for (std::int64_t t = flags.first_tokens; t <= flags.last_tokens; t *= 2) tokens.push_back(t);
  if (tokens.empty()) throw InputError("--max-tokens", "no token count between --min-tokens and --max-tokens");
  const auto rows =
      expert_table(model, cluster, named(kDispatchers, flags.dispatcher), flags.op == "combine", span, traffic, tokens);
  fmt::print("# {}: {} of {} experts, hidden {}, {}\n", flags.dispatcher, traffic.router_topk, traffic.num_experts,
             traffic.hidden_size, flags.fp8 ? "fp8 with scales" : "bf16");
  fmt::print("#{:>9} {:>13} {:>12} {:>10} {:>10}\n", "tokens", "size", "time", "algbw", "busbw");
  fmt::print("#{:>9} {:>13} {:>12} {:>10} {:>10}\n", "per rank", "(B)", "(us)", "(GB/s)", "(GB/s)");
  for (const ExpertRow& r : rows)
    fmt::print(" {:>9} {:>13} {:>12.2f} {:>10.2f} {:>10.2f}\n", r.tokens, r.cost.size.count,
               r.cost.time.seconds() * 1e6, gb(r.cost.algbw), gb(r.cost.busbw));
}

int collective(const CollectiveFlags& flags) {
  const std::filesystem::path here = std::filesystem::current_path();
  const SearchPath path = search_path(here);
  const SourceSpan flag{"--topology", 0, 0, 0, {}};
  const Cluster cluster = load_topology(resolve(Catalog::topology, flags.topology, here, path, flag));
  std::optional<Profile> profile;
  if (!flags.profile.empty())
    profile = load_profile(resolve(Catalog::profile, flags.profile, here, path, SourceSpan{"--profile", 0, 0, 0, {}}));
  const CollectiveModel model = profile ? CollectiveModel(cluster, *profile) : CollectiveModel(cluster);
  const GroupSpan span = group_of(flags, cluster);
  fmt::print("{}", describe(flags, cluster, span));
  if (flags.op == "dispatch" || flags.op == "combine")
    print_exchange(flags, cluster, model, span);
  else
    print_collective(flags, cluster, model, span);
  return kExitOk;
}

void add_exchange_flags(CLI::App& command, CollectiveFlags& flags) {
  constexpr const char* kGroup = "dispatch and combine";
  command.add_option("--dispatcher", flags.dispatcher, "who moves the tokens")
      ->check(CLI::IsMember(names_of(kDispatchers)))
      ->capture_default_str()
      ->group(kGroup);
  const auto number = [&](const char* flag, std::int64_t& value, const char* meaning) {
    command.add_option(flag, value, meaning)->check(CLI::Range(1, 1 << 24))->capture_default_str()->group(kGroup);
  };
  number("--hidden", flags.traffic.hidden_size, "elements of a token");
  number("--experts", flags.traffic.num_experts, "experts of the layer");
  number("--topk", flags.traffic.router_topk, "experts per token");
  number("--min-tokens", flags.first_tokens, "first row: tokens per rank");
  number("--max-tokens", flags.last_tokens, "last row");
  command.add_option("--nodes-per-token", flags.traffic.topk_groups, "group-limited routing: most nodes of a token")
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  command.add_flag("--fp8", flags.fp8, "tokens in fp8 with a scale per 128 elements")->group(kGroup);
}

} // namespace

void add_collective(CLI::App& app, int& code) {
  auto flags = std::make_shared<CollectiveFlags>();
  CLI::App* command =
      app.add_subcommand("collective", "What a collective or an expert exchange takes, in nccl-tests' columns");
  std::vector<std::string> ops = names_of(kCollectives);
  ops.insert(ops.end(), {"dispatch", "combine"});
  command->add_option("op", flags->op, "which")->required()->check(CLI::IsMember(ops));
  command->add_option("--topology", flags->topology, "cluster: a name of topologies/ or a file")->required();
  command->add_option("--profile", flags->profile, "measured costs of calib/profiles/; without: the wire alone");
  command->add_option("--ranks", flags->ranks, "ranks of the group; default: as many as fit")
      ->check(CLI::PositiveNumber);
  command->add_option("--stride", flags->stride, "distance of its ranks: 1 = neighbours, GPUs per node = one rail")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--algo", flags->algorithm, "how it is run")
      ->check(CLI::IsMember(names_of(kAlgorithms)))
      ->capture_default_str();
  command->add_option("-b,--min", flags->first, "first size, each row twice the one before")->capture_default_str();
  command->add_option("-e,--max", flags->last, "last size")->capture_default_str();
  command->add_option("--measured", flags->measured, "what nccl-tests printed, to compare with; its sizes are taken")
      ->type_name("FILE");
  add_exchange_flags(*command, *flags);
  command->footer("size, algbw and busbw as nccl-tests defines them; 'links' is the busbw that the links alone allow.\n"
                  "Examples:\n"
                  "  tessella collective all_to_all --topology h100_rail_256 --ranks 16\n"
                  "  tessella collective all_reduce --topology h100_rail_256 --profile h100_sxm/2026-11-29-published\n"
                  "  tessella collective all_to_all --algo halo --topology frontier --ranks 128 \\\n"
                  "      --profile experiments/21_halo/rccl_slingshot.yaml\n"
                  "  tessella collective dispatch --dispatcher deepep --fp8 --topology h100_rail_256 --ranks 64 \\\n"
                  "      --profile h100_sxm/2026-11-29-published");
  command->callback([flags, &code] { code = guarded([&] { return collective(*flags); }); });
}

} // namespace tessella
