// Expected numbers of the experiments on collectives: expected/*.yaml whose `study` is `halo`: how much faster HALO's
// all-to-all is than the flat one on a `topology` with a `profile`, at some `nodes` and `kib` per GPU.
//
//   speedup           at `nodes` and `kib`
//   smallest, largest over 16, 32, ... 512 nodes at `kib`
//   crossover_nodes   the fewest nodes from which on it is at least as fast at `kib`
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>

#include "sim/config/load.h"
#include "sim/cost/collective_table.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

struct Study {
  Cluster cluster;
  Profile profile;

  double speedup(std::int64_t nodes, std::int64_t kib) const {
    const CollectiveModel model(cluster, profile);
    const GroupSpan span = span_of_first(cluster, nodes * cluster.node.gpus);
    const auto seconds = [&](Algorithm a) {
      return collective_time(model, Collective::all_to_all, span, Bytes{kib * 1024}, a).seconds();
    };
    return seconds(Algorithm::flat) / seconds(Algorithm::halo);
  }
};

double value_of(const Study& study, const YAML::Node& number) {
  const auto key = number["key"].as<std::string>();
  const auto kib = number["kib"].as<std::int64_t>();
  if (key == "speedup") return study.speedup(number["nodes"].as<std::int64_t>(), kib);
  if (key == "crossover_nodes") {
    std::int64_t nodes = 512;
    while (nodes > 2 && study.speedup(nodes - 1, kib) >= 1.0) --nodes;
    return static_cast<double>(nodes);
  }
  double least = study.speedup(16, kib);
  double most = least;
  for (std::int64_t nodes = 32; nodes <= 512; nodes *= 2) {
    least = std::min(least, study.speedup(nodes, kib));
    most = std::max(most, study.speedup(nodes, kib));
  }
  REQUIRE((key == "smallest" || key == "largest"));
  return key == "smallest" ? least : most;
}

} // namespace

TEST_CASE("Experiments on collectives give their expected numbers") {
  int numbers = 0;
  for (const fs::path& file : testing::expected_files()) {
    const YAML::Node node = YAML::LoadFile(file.string());
    if (!node["study"] || node["study"].as<std::string>() != "halo") continue;
    CAPTURE(file.string());
    const fs::path folder = file.parent_path().parent_path();
    const Study study{load_topology("topologies/" + node["topology"].as<std::string>() + ".yaml"),
                      load_profile(folder / node["profile"].as<std::string>())};
    for (const YAML::Node& number : node["numbers"]) {
      CAPTURE(number["kib"].as<std::string>());
      testing::check_number(number, value_of(study, number));
      ++numbers;
    }
  }
  CHECK(numbers >= 8);
}
