// Every experiment's expected numbers: experiments/NN_slug/expected/*.yaml names a run and, per key of `run --json`,
// the expected value, its tolerance (relative) or bounds, and the reason. With `base: {experiment, set}` a number
// marked `ratio: true` is divided by what the base run gives.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/planner/simulate.h"
#include "sim/report/json.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

// "ledger/exposed/ep" -> the number there.
double at(const nlohmann::json& json, const std::string& key) {
  const nlohmann::json& node = json.at(nlohmann::json::json_pointer("/" + key));
  return node.is_boolean() ? static_cast<double>(node.get<bool>()) : node.get<double>();
}

// `of` has `experiment` and may have `set`.
nlohmann::json run_of(const YAML::Node& of, const fs::path& folder) {
  LoadOptions options;
  if (of["set"])
    for (const auto& item : of["set"]) options.overrides.push_back(item.as<std::string>());
  const Scenario scenario = load_scenario(folder / of["experiment"].as<std::string>(), options);
  RunOptions run;
  run.threads = 2;
  return nlohmann::json::parse(run_json(scenario, simulate(scenario, run)));
}

void check(const YAML::Node& number, const nlohmann::json& json, const nlohmann::json& base) {
  const auto key = number["key"].as<std::string>();
  double value = at(json, key);
  if (number["ratio"]) value /= at(base, key);
  testing::check_number(number, value);
}

} // namespace

TEST_CASE("Experiments give their expected numbers") {
  const std::vector<fs::path> files = testing::expected_files();
  REQUIRE(!files.empty());
  for (const fs::path& file : files) {
    CAPTURE(file.string());
    const YAML::Node expectation = YAML::LoadFile(file.string());
    if (expectation["study"]) continue; // not a run: pair_experiments_test.cpp
    const fs::path folder = file.parent_path().parent_path();
    const nlohmann::json json = run_of(expectation, folder);
    const nlohmann::json base = expectation["base"] ? run_of(expectation["base"], folder) : nlohmann::json{};
    REQUIRE(expectation["numbers"].size() > 0);
    for (const YAML::Node& number : expectation["numbers"]) check(number, json, base);
  }
}
