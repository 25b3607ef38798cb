// tessella regress, as CI runs it.
#include <doctest/doctest.h>

#include "sim/config/load_baseline.h"
#include "tests/support/process.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

// A baseline of one small experiment, and of experiment 01 when `with_01`; its profile is a copy that a test may edit.
void write_baseline(const TempFolder& folder, bool with_01 = false) {
  folder.write("profile.yaml", read_text_file("calib/profiles/h100_sxm/2026-11-29-published/profile.yaml"));
  folder.write("small.yaml", R"(experiment: small
model: toy
cluster: {topology: h100_node_8, profile: profile.yaml}
parallelism: {pp: 2, ep: 4}
batch: {mbs: 1, gbs: 16, seq: 512}
routing: {kind: balanced}
)");
  std::string text = "baseline: own\nexperiments:\n  - {name: small, experiment: ../small.yaml}\n";
  if (with_01)
    text += "  - {name: e01, experiment: \"" + std::filesystem::current_path().string() +
            "/experiments/01_qwen3_235b_h100_256/experiment.yaml\", set: {batch.gbs: 256}}\n";
  folder.write("base/baseline.yaml", text + "tolerances:\n  - {of: totals, relative: 1 %, reason: \"as measured\"}\n");
}

Ran regress(const TempFolder& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"regress", "--baseline", folder / "base"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

void replace(const TempFolder& folder, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = read_text_file(folder / file);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  folder.write(file, text.replace(at, from.size(), to));
}

} // namespace

TEST_CASE("What was accepted passes, and expected files read back as they were written") {
  const TempFolder folder;
  write_baseline(folder, true);
  CHECK(regress(folder).code == 1); // nothing accepted yet
  CHECK(regress(folder, {"--accept"}).code == 2);
  const Ran accepted = regress(folder, {"--accept", "--note", "the first"});
  REQUIRE_MESSAGE(accepted.code == 0, accepted.err);
  const Ran ran = regress(folder);
  CHECK_MESSAGE(ran.code == 0, ran.out);
  CHECK(ran.out.find("own: 2 experiments as expected") != std::string::npos);
  for (const char* name : {"small", "e01"}) {
    const auto snapshot = load_expected(folder / "base", name);
    REQUIRE(snapshot);
    CHECK(snapshot->note == "the first");
    CHECK(to_yaml(*snapshot) == read_text_file(expected_file(folder / "base", name).string()));
  }
  const Ran moved =
      regress(folder, {"--set", "parallelism.pp=4", "--set", "parallelism.vpp=8", "--set", "batch.seq=512"});
  CHECK(moved.code == 1);
}

TEST_CASE("A changed constant of the profile fails, and the report names the file, the cost and what follows from it") {
  const TempFolder folder;
  write_baseline(folder);
  REQUIRE(regress(folder, {"--accept", "--note", "n"}).code == 0);
  replace(folder, "profile.yaml", "memory: 80 GiB", "memory: 79 GiB"); // unrelated: the plan still fits
  const Ran unrelated = regress(folder);
  CHECK_MESSAGE(unrelated.code == 0, unrelated.out);
  CHECK(unrelated.out.find("inputs differ, and nothing moved") != std::string::npos);

  replace(folder, "profile.yaml", "params: {peak: ", "params: {peak: 1"); // the first GEMM, twice as fast or more
  const Ran ran =
      regress(folder, {"--junit", folder / "j.xml", "--markdown", folder / "m.md", "--json", folder / "r.json"});
  CHECK(ran.code == 1);
  const std::size_t cause = ran.out.find("profile.yaml: sha256 ");
  const std::size_t imbalance = ran.out.find("imbalance: ");
  const std::size_t bubbles = ran.out.find("bubbles: ");
  const std::size_t fabric = ran.out.find("fabric: ");
  CHECK(cause < imbalance);
  CHECK(imbalance < bubbles);
  CHECK(bubbles < fabric);
  CHECK(fabric != std::string::npos);
  CHECK_MESSAGE(read_text_file(folder / "r.json").find("costs.head.") != std::string::npos, ran.out);
  CHECK(read_text_file(folder / "j.xml").find("<failure message=") != std::string::npos);
  CHECK(read_text_file(folder / "m.md").starts_with("### own: 1 of 1 experiments moved"));
  CHECK(read_text_file(folder / "r.json").find("\"failed\": true") != std::string::npos);
}

TEST_CASE("Another setting is named; an illegal plan is refused with its reason; names cannot break the reports") {
  const TempFolder folder;
  write_baseline(folder);
  REQUIRE(regress(folder, {"--accept", "--note", "<b>\"n\" & co</b>"}).code == 0);
  const Ran ran = regress(folder, {"--set", "batch.seq=1024"});
  CHECK(ran.code == 1);
  CHECK(ran.out.find("setting batch.seq_length: 512 -> 1024") != std::string::npos);
  const Ran illegal = regress(folder, {"--set", "parallelism.pp=3", "--junit", folder / "j.xml"});
  CHECK(illegal.code == 1);
  CHECK(illegal.out.find("illegal: ") != std::string::npos);
  CHECK(read_text_file(folder / "j.xml").find("<error message=\"illegal: ") != std::string::npos);
  const Ran none = run_command({"regress", "--baseline", folder / "nowhere"});
  CHECK(none.code == 2);
}

TEST_CASE("An expected file of another version is refused with the way out, and accepting writes it anew") {
  const TempFolder folder;
  write_baseline(folder);
  REQUIRE(regress(folder, {"--accept", "--note", "n"}).code == 0);
  replace(folder, "base/expected/small.yaml", "imbalance:", "of_tomorrow: {x: 1}\nimbalance:");
  const Ran ran = regress(folder);
  CHECK(ran.code == 1);
  CHECK(ran.out.find("is damaged or of another version: unknown key 'of_tomorrow'") != std::string::npos);
  CHECK(ran.out.find("--accept --note '...' writes it anew") != std::string::npos);
  CHECK(regress(folder, {"--accept", "--note", "n"}).code == 0);
  CHECK(regress(folder).code == 0);
  replace(folder, "base/expected/small.yaml", "tool: \"", "tool: \"9.");
  CHECK(regress(folder).code == 0); // another version alone moves nothing
  const Ran role = run_command({"regress", "--baseline", folder / "small.yaml"});
  CHECK(role.code == 2);
}
