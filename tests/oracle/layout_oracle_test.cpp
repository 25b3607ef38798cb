// Layout strings against what Megatron's own parser makes of them (own copy of the published values; the shared file,
// where present, adds the layer ids of every chunk).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/domain/layout.h"

using namespace tessella;

namespace {

struct Expected {
  const char* layout;
  std::size_t pp;
  std::size_t stages;
  std::vector<int> decoders_per_rank;
};

const Expected kOracle[] = {
    {"Et*3|(tt|)*29,m|L", 16, 32, {5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2}},
    {"Et|(tt|)*30mL", 8, 32, {7, 8, 8, 8, 8, 8, 8, 6}},
    {"Et*2|(tt|)*22t|(tt|)*7mL", 8, 32, {8, 8, 8, 8, 8, 8, 8, 5}},
    {"E||t|L", 4, 4, {0, 0, 1, 0}},
    {"E|t*4|t*4|t*4L", 4, 4, {0, 4, 4, 4}},
    {"Ett|tt|tt|ttL", 2, 4, {4, 4}},
};

std::string stage_letters(const StageContent& s) {
  std::string text = s.embedding ? "E" : "";
  text += std::string(static_cast<std::size_t>(s.num_layers), 't');
  text += std::string(static_cast<std::size_t>(s.mtp_layers), 'm');
  return s.loss ? text + "L" : text;
}

} // namespace

TEST_CASE("decoder layers per pipeline rank") {
  for (const Expected& e : kOracle) {
    const Partition p = parse_layout(e.layout);
    CHECK(p.stages.size() == e.stages);
    std::vector<int> decoders(e.pp, 0);
    for (std::size_t s = 0; s < p.stages.size(); ++s) decoders[s % e.pp] += p.stages[s].num_layers;
    CHECK_MESSAGE(decoders == e.decoders_per_rank, e.layout);
    CHECK(parse_layout(to_layout(p)) == p);
  }
}

TEST_CASE("letters and layer ids of every chunk") {
  std::ifstream file("../shared/data/layout_oracle.json");
  if (!file) {
    MESSAGE("skipped: ../shared/data/layout_oracle.json is not there");
    return;
  }
  const nlohmann::json rows = nlohmann::json::parse(file);
  CHECK(rows.size() == 6);
  for (const auto& row : rows) {
    const Partition p = parse_layout(row["layout"].get<std::string>());
    const auto pp = row["pp"].get<std::size_t>();
    REQUIRE(p.stages.size() == row["num_stages"].get<std::size_t>());
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
      const StageContent& stage = p.stages[s];
      CHECK(stage_letters(stage) == row["per_rank"][s % pp][s / pp].get<std::string>());
      const auto& ids = row["decoder_id_range_per_rank_chunk"][s % pp][s / pp];
      CHECK(stage.first_layer == ids[0].get<int>());
      CHECK(stage.first_layer + stage.num_layers == ids[1].get<int>());
    }
  }
}
