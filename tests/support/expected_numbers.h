// The numbers that experiments are held to: experiments/NN_slug/expected/*.yaml.
#pragma once

#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace tessella::testing {

// All such files, sorted; those of a baseline are `regress`'s own.
inline std::vector<std::filesystem::path> expected_files() {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const auto& experiment : fs::directory_iterator("experiments")) {
    const fs::path folder = experiment.path() / "expected";
    if (!fs::is_directory(folder) || fs::exists(experiment.path() / "baseline.yaml")) continue;
    for (const auto& file : fs::directory_iterator(folder)) files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// `number` has a key, a reason, and bounds or an expected value with a relative tolerance.
inline void check_number(const YAML::Node& number, double value) {
  const auto key = number["key"].as<std::string>();
  CAPTURE(key);
  CAPTURE(value);
  REQUIRE(!number["reason"].as<std::string>().empty());
  if (number["at_least"]) CHECK(value >= number["at_least"].as<double>());
  if (number["at_most"]) CHECK(value <= number["at_most"].as<double>());
  if (!number["expected"]) return;
  const auto expected = number["expected"].as<double>();
  CHECK(std::abs(value - expected) <= number["tolerance"].as<double>() * std::abs(expected));
}

} // namespace tessella::testing
