// tessella pair and tessella pairs as users see them: what is printed where, exit codes, bad input.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/command.h"

using tessella::testing::CommandResult;
namespace fs = std::filesystem;

namespace {

const std::string kExperiment = "experiments/13_fig13_overlap_heuristics/experiment.yaml";

CommandResult pair(const std::string& arguments) {
  return tessella::testing::tessella("pair " + kExperiment + " --pair " + arguments);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("pair names both chunks, compares the methods and draws the lanes") {
  const CommandResult r = pair("F:1,B:2 --method exact --tasks");
  CHECK(r.exit_code == 0);
  for (const char* part : {"F of stage 1: gdn_moe+full_moe", "B of stage 2: 2*gdn_moe", "megatron", "proven",
                           "no order is better", "compute Fa0", "ep ", "F_ATTN.0"})
    CHECK_MESSAGE(contains(r.out, part), part);
  CHECK(pair("'(1F5;2B3)' --method exact --tasks").out == r.out);
  CHECK(pair("F:1,B:1").exit_code == 0); // a stage with itself
}

TEST_CASE("An order can be saved, read back, and costs the same") {
  char folder[] = "/tmp/tessella-pair-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string file = std::string(folder) + "/order.yaml";
  CHECK(pair("F:1,B:2 --method fifo --save-order " + file).exit_code == 0);
  std::ifstream saved(file);
  const std::string text{std::istreambuf_iterator<char>(saved), std::istreambuf_iterator<char>()};
  CHECK(pair("F:1,B:2 --method fifo --save-order -").out == text);
  const CommandResult own = pair("F:1,B:2 --order " + file);
  CHECK(own.exit_code == 0);
  CHECK(contains(own.out, "pair F;B by " + file));

  std::string wrong = text;
  wrong.replace(wrong.find("F_ATTN.0"), 8, "F_ATTN.9");
  std::ofstream(file) << wrong;
  const CommandResult missing = pair("F:1,B:2 --order " + file);
  CHECK(missing.exit_code == 2);
  CHECK(contains(missing.err, "task F_ATTN.9 does not exist in this pair; did you mean"));
  CHECK(missing.out.empty());
  CHECK(pair("B:1,F:2 --order " + file).exit_code == 2); // an order of other passes
  CHECK(pair("F:1,B:2 --order " + file + ".absent").exit_code == 2);
  fs::remove_all(folder);
}

TEST_CASE("Pairs that make no sense are refused with the reason") {
  CHECK(contains(pair("'(1F1;2B1)'").err, "one micro-batch"));
  CHECK(contains(pair("F:1,B:32").err, "stages are 0 to 31"));
  CHECK(contains(pair("1,2").err, "write F:3,B:7"));
  CHECK(contains(pair("F:1,W:2").err, "write F:3,B:7"));
  CHECK(contains(pair("'(1F1;2W2)'").err, "neither a forward nor a full backward"));
  CHECK(contains(pair("F:1,B:2 --method best").err, "one of fifo, align"));
  CHECK(contains(pair("F:1,F:2 --method megatron").err, "a forward with a backward only"));
  for (const char* bad : {"'(1F1;2B1)'", "F:1,B:32", "1,2", "F:1,B:2 --method best", "F:1,F:2 --method megatron"})
    CHECK(pair(bad).exit_code == 2);
}

TEST_CASE("pairs studies all candidates, and says when a schedule has none") {
  const CommandResult r = tessella::testing::tessella("pairs " + kExperiment + " --radius 0");
  CHECK(r.exit_code == 0);
  for (const char* part : {"distinct pairs", "proven", "align_defer", "mean", "optimal"})
    CHECK_MESSAGE(contains(r.out, part), part);
  const CommandResult none =
      tessella::testing::tessella("pairs " + kExperiment + " --set schedule='{name: interleaved_1f1b}'");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.err, "co-schedules no pairs"));
}
