#include "sim/planner/validate/measured_cluster.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "sim/base/check.h"

namespace tessella {
namespace {

struct GpuLinks {
  const char* csv; // the first word of the gpu column
  const char* gpu;
  double scale_up; // GB/s per direction
  double nic;      // GB/s per GPU
  const char* source;
};
constexpr GpuLinks kGpus[] = {
    {"H100", "h100_sxm", 450, 50,
     "NVLink 4 and one 400 Gb/s NIC per GPU: DGX H100 and every H100 cloud node of its kind"},
    {"H200", "h200_sxm", 450, 50, "as H100"},
    {"H800", "h800_sxm", 200, 50, "NVLink at 400 GB/s bidirectional, 400 Gb/s NICs: arXiv 2412.19437"},
    {"B200", "b200_sxm", 900, 50, "NVLink 5 and one 400 Gb/s NIC per GPU: DGX B200"},
    {"A100", "a100_sxm", 300, 25, "NVLink 3 and one 200 Gb/s NIC per GPU: DGX A100"},
};

const GpuLinks* links_of(const std::string& gpu) {
  const std::string word = gpu.substr(0, gpu.find(' '));
  for (const GpuLinks& g : kGpus)
    if (word == g.csv) return &g;
  return nullptr;
}

// The number that ends before `end`, walking back over digits; 0 when there is none.
double number_before(std::string_view text, std::size_t end) {
  std::size_t from = end;
  while (from > 0 && std::isdigit(static_cast<unsigned char>(text[from - 1])) != 0) --from;
  double value = 0.0;
  std::from_chars(text.data() + from, text.data() + end, value);
  return value;
}

} // namespace

std::optional<std::string> profile_gpu(const std::string& gpu) {
  const GpuLinks* links = links_of(gpu);
  return links == nullptr ? std::nullopt : std::optional<std::string>(links->gpu);
}

bool is_hopper(const std::string& gpu) {
  return gpu == "h100_sxm" || gpu == "h200_sxm" || gpu == "h800_sxm";
}

std::optional<double> stated_nic_gb_per_s(const std::string& network, std::int64_t gpus_per_node) {
  const auto per_node = [&](double gbit) { return gbit / 8.0 / static_cast<double>(gpus_per_node); };
  // "32x100G": NICs of a node times their speed.
  for (std::size_t x = network.find('x'); x != std::string::npos; x = network.find('x', x + 1)) {
    std::size_t end = x + 1;
    while (end < network.size() && std::isdigit(static_cast<unsigned char>(network[end])) != 0) ++end;
    const double nics = number_before(network, x);
    if (nics > 0 && end > x + 1 && end < network.size() && network[end] == 'G')
      return per_node(nics * number_before(network, end));
  }
  const std::size_t unit = network.find(" Gb/s");
  if (unit == std::string::npos) return std::nullopt;
  const double gbit = number_before(network, unit);
  if (gbit <= 0) return std::nullopt;
  if (network.find("per node", unit) != std::string::npos) return per_node(gbit);
  return gbit / 8.0;
}

Cluster measured_cluster(const MeasuredRun& run, std::int64_t gpus) {
  const GpuLinks* links = links_of(run.gpu);
  TSL_CHECK(links != nullptr);
  Cluster c;
  c.name = run.gpu + " as measured";
  c.gpu = links->gpu;
  c.source = links->source;
  const std::int64_t per_node = run.gpus_per_node.value_or(8);
  c.node.gpus = std::min(per_node, gpus);
  c.nodes = gpus / c.node.gpus;
  c.node.scale_up = {{links->scale_up * 1e9}, round_to_picoseconds(0.9e-6), links->source};
  if (c.nodes == 1) return c;
  const double nic = stated_nic_gb_per_s(run.network, per_node).value_or(links->nic);
  c.node.nics = c.node.gpus;
  c.node.nic = {{nic * 1e9}, round_to_picoseconds(1.25e-6), links->source};
  c.fabric.kind = FabricKind::rail_optimized;
  c.fabric.nodes_per_leaf = std::min<std::int64_t>(32, c.nodes);
  c.fabric.leaf_to_spine = {{nic * 1e9}, round_to_picoseconds(0.15e-6), links->source};
  c.fabric.switch_latency = round_to_picoseconds(0.3e-6);
  c.fabric.source = "32-node scalable units, one leaf per rail, 1:1 (DGX SuperPOD)";
  return c;
}

Profile measured_profile(const MeasuredRun& run, const Profile& profile) {
  if (run.gpu.find("HBM2e") == std::string::npos) return profile;
  constexpr double kHbm2e = 2400.0 / 3350.0; // torchtitan's H100 with HBM2e: 2.4 TB/s
  const double clock = std::cbrt((500.0 - 200.0) / (700.0 - 200.0));
  Profile p = profile;
  p.name += ", HBM2e, 500 W";
  p.gpu.hbm = p.gpu.hbm * kHbm2e;
  for (ProfileEntry& e : p.entries)
    for (auto& [key, value] : e.params) {
      const bool hbm = key == "hbm" || (e.form == "stream" && key == "bandwidth" && e.op != "router");
      if (hbm) value *= kHbm2e;
      if (e.op == "sustained" && key == "factor") value *= clock;
    }
  return p;
}

void overlap_tp_collectives(Profile& profile, std::int64_t tp) {
  constexpr double kRealised = 0.72;
  const double ideal = 1.0 - 1.0 / static_cast<double>(tp);
  profile.entries.push_back(
      {"tp_exposed",
       "",
       "",
       "factor",
       {{"factor", 1.0 - kRealised * ideal}},
       Provenance::published,
       "72 % of the ideal gain with copy engines (arXiv 2412.14335); one of tp pieces never hides",
       {}});
}

void shard_parameters(Profile& profile) {
  profile.entries.push_back({"sharded_params",
                             "",
                             "",
                             "factor",
                             {{"factor", 1.189}},
                             Provenance::published,
                             "mean slowdown of compute beside collectives, FSDP among others: arXiv 2507.03114",
                             {}});
}

void use_flash_attention_2(Profile& profile) {
  constexpr double kShare = 333.0 / 602.0;
  for (ProfileEntry& e : profile.entries) {
    if (e.form != "attention_rate") continue;
    for (auto& [key, value] : e.params)
      if (key == "peak") value *= kShare;
  }
}

std::optional<Profile> stand_in_profile(const std::string& gpu, const Profile& h100) {
  struct DataSheet {
    const char* gpu;
    double bf16, hbm, memory_gib;
    std::int64_t sms;
  };
  constexpr DataSheet kSheets[] = {{"b200_sxm", 2250e12, 7700e9, 180, 148}};
  const auto sheet = std::find_if(std::begin(kSheets), std::end(kSheets), [&](const auto& d) { return gpu == d.gpu; });
  if (sheet == std::end(kSheets)) return std::nullopt;
  Profile p = h100;
  p.name = gpu + " from data sheets over " + h100.name;
  const double rate = sheet->bf16 / h100.gpu.bf16_peak.flops_per_second;
  const double hbm = sheet->hbm / h100.gpu.hbm.bytes_per_second;
  p.gpu.name = gpu;
  p.gpu.sms = sheet->sms;
  p.gpu.bf16_peak = {sheet->bf16};
  p.gpu.fp8_peak = h100.gpu.fp8_peak * rate;
  p.gpu.hbm = {sheet->hbm};
  p.gpu.memory = {static_cast<std::int64_t>(sheet->memory_gib * 1024.0 * 1024.0 * 1024.0)};
  for (ProfileEntry& e : p.entries) {
    e.provenance = Provenance::assumed;
    e.residual.reset();
    for (auto& [key, value] : e.params) {
      if (key == "peak") value *= rate;
      if (key == "hbm" || (e.form == "stream" && key == "bandwidth")) value *= hbm;
      if (key == "sms" && e.form != "collective") value = static_cast<double>(sheet->sms);
    }
  }
  return p;
}

} // namespace tessella
