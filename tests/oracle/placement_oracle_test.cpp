// Expert placements with known answers: EPLB's published example, Piper's table of migration costs.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/planner/search/expert_placement.h"

using namespace tessella;
using nlohmann::json;

namespace {

// deepseek-ai/EPLB, README: two layers, 12 experts in 4 groups, 16 replicas over 8 GPUs on 2 nodes.
const std::vector<std::vector<double>> kLoad = {{90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
                                                {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27}};
const std::vector<std::vector<std::int32_t>> kPlacement = {{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1},
                                                           {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1}};
const std::vector<std::vector<double>> kGpuLoad = {{121.5, 86.5, 125.0, 113.0, 147.5, 131.5, 156.0, 152.0},
                                                   {173.0, 179.5, 120.5, 172.0, 123.0, 152.0, 118.5, 117.5}};
constexpr EplbShape kShape{16, 4, 2, 8};

bool mentions(const std::optional<std::string>& text, std::initializer_list<const char*> words) {
  if (!text) return false;
  for (const char* word : words)
    if (text->find(word) == std::string::npos) return false;
  return true;
}

} // namespace

TEST_CASE("EPLB's published example, replica by replica") {
  const std::vector<double> max_over_mean_expected = {1.2081, 1.2422};
  const std::vector<double> contiguous_expected = {1.2778, 1.7855};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    CHECK_FALSE(check_eplb(kShape, 12));
    const ExpertPlacement placement = eplb(kLoad[layer], kShape);
    CHECK(placement.expert_at == kPlacement[layer]);
    const std::vector<double> loads = gpu_loads(placement, kLoad[layer]);
    CHECK(loads == kGpuLoad[layer]);
    CHECK(max_over_mean(loads) == doctest::Approx(max_over_mean_expected[layer]).epsilon(1e-4));
    const auto before = gpu_loads(contiguous_placement(12, 4), kLoad[layer]);
    CHECK(max_over_mean(before) == doctest::Approx(contiguous_expected[layer]).epsilon(1e-4));
  }
}

TEST_CASE("The reference file says the same") {
  std::ifstream file("../shared/data/expert_placement_oracle.json");
  if (!file) {
    MESSAGE("skipped: ../shared/data/expert_placement_oracle.json is absent");
    return;
  }
  const json y = json::parse(file).at("eplb");
  const EplbShape shape{y.at("num_replicas").get<std::int32_t>(), y.at("num_groups").get<std::int32_t>(),
                        y.at("num_nodes").get<std::int32_t>(), y.at("num_gpus").get<std::int32_t>()};
  const auto loads = y.at("weight").get<std::vector<std::vector<double>>>();
  for (std::size_t layer = 0; layer < loads.size(); ++layer) {
    const ExpertPlacement p = eplb(loads[layer], shape);
    CHECK(p.expert_at == y.at("expected_phy2log")[layer].get<std::vector<std::int32_t>>());
    CHECK(gpu_loads(p, loads[layer]) == y.at("gpu_loads")[layer].get<std::vector<double>>());
    // Its "ideal load" is the mean over the GPUs, which our bound never falls below.
    CHECK(placement_lower_bound(loads[layer], 16, 8) >= y.at("ideal_load")[layer].get<double>());
  }
}

TEST_CASE("Shapes that EPLB refuses name both numbers") {
  CHECK(mentions(check_eplb({17, 4, 2, 8}, 12), {"17", "8"}));
  CHECK(mentions(check_eplb({8, 4, 2, 8}, 12), {"8", "12"}));
  CHECK(mentions(check_eplb({16, 5, 2, 8}, 12), {"12", "5"}));
  // Groups that do not divide over the nodes: legal, but groups and nodes are forgotten.
  const EplbShape odd{24, 4, 3, 12};
  CHECK_FALSE(check_eplb(odd, 12));
  CHECK(is_global_policy(odd));
  CHECK_FALSE(is_global_policy(kShape));
  CHECK(eplb(kLoad[0], odd) == eplb(kLoad[0], {24, 1, 1, 12}));
}

TEST_CASE("Piper's table of migration costs: all experts of a GPU at 50 GB/s") {
  // arXiv 2605.05049, table IV. The column is printed in GB but five rows are GiB, which is what 48 E d d_ffn / 8
  // gives; Switch-Base is decimal, GLaM's 102.88 is neither (103.08 GB) and is held to three digits at 0.2 %.
  struct Row {
    std::int64_t experts, d, d_ffn;
    double printed, unit;
  };
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  for (const Row& r : {Row{128, 768, 2048, 1.21, 1e9}, Row{8, 4096, 14336, 2.63, kGib}, Row{8, 6144, 16384, 4.50, kGib},
                       Row{8, 6144, 32768, 9.00, kGib}, Row{64, 8192, 32768, 102.88, 1e9},
                       Row{160, 5120, 1536, 7.04, kGib}, Row{256, 7168, 2048, 21.00, kGib}}) {
    const double sent = static_cast<double>(expert_state(r.d, r.d_ffn).count * r.experts / 8) / r.unit;
    CHECK(sent == doctest::Approx(r.printed).epsilon(0.003));
    const MigrationTest test = migration_test(static_cast<std::int32_t>(r.experts / 8), expert_state(r.d, r.d_ffn),
                                              Bandwidth{50.0 * r.unit}, Duration{1}, 1);
    CHECK(test.cost.seconds() == doctest::Approx(r.printed / 50.0).epsilon(0.003));
    CHECK_FALSE(test.worthwhile());
  }
}
