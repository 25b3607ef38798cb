// Expected numbers of the experiments that rank public plans: expected/*.yaml with `study: public_plans`.
//
// Every measured run of one `model` and `group` in `runs` is predicted with `profile`, whose factors must not come from
// that group. Order is by tokens/s. tau = (pairs in the right order - pairs in the wrong one) / pairs, over the pairs
// that the measurement tells apart by more than `noise` (as a fraction):
//
//   tau/all             all of them
//   tau/one_job         same batch and sequence: what a search would rank
//   tau/one_software    both runs are in the same list of `software`, so that only the plans differ
//   tau/told_apart      predictions further apart than the profile's own median error (row step_moe)
//   tau/without_noise   as all, with noise 0
// and pairs/X for each, rows, and step_s/ID.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/config/validation_csv.h"
#include "sim/planner/simulate.h"
#include "sim/planner/validate/measured_scenario.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

using Numbers = std::map<std::string, double>;

struct Rung {
  std::string id;
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  double measured = 0.0; // tokens/s
  double predicted = 0.0;
};

std::vector<Rung> rungs(const YAML::Node& study, const fs::path& folder, const Profile& profile, Numbers& n) {
  const Model model = load_model("models/" + study["model_file"].as<std::string>() + ".yaml");
  std::vector<Rung> all;
  for (const MeasuredRun& run : load_measured_runs(folder / study["runs"].as<std::string>())) {
    if (run.group != study["group"].as<std::string>() || run.model != study["model"].as<std::string>()) continue;
    CAPTURE(run.id);
    const auto made = measured_scenario(run, model, profile);
    REQUIRE(std::holds_alternative<Scenario>(made));
    const auto& s = std::get<Scenario>(made);
    const double step = simulate(s, {}).step_time.seconds();
    const auto tokens = static_cast<double>(s.batch.global_batch_size * s.batch.seq_length);
    all.push_back(
        {run.id, s.batch.global_batch_size, s.batch.seq_length, tokens / measured_step_s(run, s), tokens / step});
    n["step_s/" + run.id] = step;
  }
  n["rows"] = static_cast<double>(all.size());
  return all;
}

template <class Counts>
void add_tau(const std::string& name, const std::vector<Rung>& all, double noise, Counts counts, Numbers& n) {
  double pairs = 0.0;
  double balance = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const double measured = std::log(all[i].measured / all[j].measured);
      const double predicted = std::log(all[i].predicted / all[j].predicted);
      if (std::abs(measured) <= noise || !counts(all[i], all[j])) continue;
      pairs += 1.0;
      balance += measured * predicted > 0.0 ? 1.0 : -1.0;
    }
  REQUIRE(pairs > 0.0);
  n["pairs/" + name] = pairs;
  n["tau/" + name] = balance / pairs;
}

bool one_software(const YAML::Node& study, const Rung& a, const Rung& b) {
  for (const auto& list : study["software"]) {
    const auto ids = list.second.as<std::vector<std::string>>();
    const auto has = [&](const Rung& r) { return std::find(ids.begin(), ids.end(), r.id) != ids.end(); };
    if (has(a) && has(b)) return true;
  }
  return false;
}

Numbers numbers_of(const YAML::Node& study, const fs::path& folder) {
  const Profile profile = load_profile(folder / study["profile"].as<std::string>());
  const ProfileEntry* whole = profile.find("step_moe");
  REQUIRE(whole != nullptr);
  const double own_error = std::log1p(whole->residual->median);
  const auto noise = study["noise"].as<double>();
  Numbers n;
  const std::vector<Rung> all = rungs(study, folder, profile, n);
  const auto any = [](const Rung&, const Rung&) { return true; };
  add_tau("all", all, noise, any, n);
  add_tau("without_noise", all, 0.0, any, n);
  add_tau(
      "one_job", all, noise, [](const Rung& a, const Rung& b) { return a.batch == b.batch && a.seq == b.seq; }, n);
  add_tau(
      "one_software", all, noise, [&](const Rung& a, const Rung& b) { return one_software(study, a, b); }, n);
  add_tau(
      "told_apart", all, noise,
      [&](const Rung& a, const Rung& b) { return std::abs(std::log(a.predicted / b.predicted)) > own_error; }, n);
  return n;
}

} // namespace

TEST_CASE("Public plans are ranked as the experiments say") {
  int studies = 0;
  for (const fs::path& file : testing::expected_files()) {
    const YAML::Node study = YAML::LoadFile(file.string());
    if (!study["study"] || study["study"].as<std::string>() != "public_plans") continue;
    CAPTURE(file.string());
    ++studies;
    const Numbers numbers = numbers_of(study, file.parent_path().parent_path());
    REQUIRE(study["numbers"].size() > 0);
    for (const YAML::Node& number : study["numbers"]) {
      const auto key = number["key"].as<std::string>();
      REQUIRE_MESSAGE(numbers.count(key) == 1, key);
      testing::check_number(number, numbers.at(key));
    }
  }
  CHECK(studies >= 1);
}
