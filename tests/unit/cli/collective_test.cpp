// tessella collective, as a user runs it: case 24 and the ideal all-to-all of DGX H100 clusters.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

using namespace tessella::testing;

namespace {

constexpr int kTime = 1, kBusbw = 3;

Ran collective(const std::string& arguments) {
  std::vector<std::string> words = {"collective"};
  std::istringstream in(arguments);
  for (std::string word; in >> word;) words.push_back(word);
  return run_command(words);
}

// A column of the last row of the table.
double last(const Ran& ran, int column) {
  REQUIRE(ran.code == 0);
  std::istringstream lines(ran.out);
  std::string line, row, word;
  while (std::getline(lines, line))
    if (!line.empty() && line[0] != '#') row = line;
  std::istringstream words(row);
  for (int i = 0; i <= column; ++i) words >> word;
  return std::stod(word);
}

const std::string kRail = "--topology h100_rail_256 ";
const std::string kProfile = "--profile h100_sxm/2026-11-29-published ";

} // namespace

TEST_CASE("The ideal all-to-all of 2, 6 and 16 DGX H100 is (n-1)/(n-8) NICs") {
  CHECK(last(collective("all_to_all -e 64GiB --ranks 16 " + kRail), kBusbw) == doctest::Approx(93.75).epsilon(0.001));
  CHECK(last(collective("all_to_all -e 64GiB --ranks 48 " + kRail), kBusbw) == doctest::Approx(58.75).epsilon(0.001));
  CHECK(last(collective("all_to_all -e 64GiB --ranks 128 " + kRail), kBusbw) == doctest::Approx(52.92).epsilon(0.001));
}

TEST_CASE("A group says which ranks it holds; inside a node more nodes change nothing, over the world they do") {
  const auto time = [](const std::string& ranks, const std::string& stride) {
    return last(
        collective("all_reduce -b 16MiB -e 16MiB " + kProfile + kRail + "--ranks " + ranks + " --stride " + stride),
        kTime);
  };
  CHECK(time("8", "1") < time("32", "1"));
  CHECK(time("32", "1") < time("64", "1"));
  const Ran rail = collective("all_reduce --ranks 4 --stride 8 " + kRail);
  CHECK(rail.out.find("# all_reduce over 4 ranks of h100_rail_256: 4 nodes x 1, one rail; wire speed") == 0);
}

TEST_CASE("No algorithm beats the links") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"})
    for (const char* algorithm : {"flat", "hierarchical"}) {
      const Ran ran = collective(std::string(op) + " --ranks 32 --algo " + algorithm + " " + kProfile + kRail);
      CHECK(last(ran, kBusbw) <= (op == std::string("all_to_all") ? 31.0 / 24.0 * 50.0 : 400.0));
    }
  CHECK(last(collective("all_to_all --ranks 32 --algo halo " + kProfile + kRail), kBusbw) <= 31.0 / 24.0 * 50.0);
  CHECK(last(collective("dispatch --ranks 32 --dispatcher deepep " + kProfile + kRail), 4) <= 50.0);
  CHECK(collective("all_gather --algo halo " + kRail).code == 2);
}

TEST_CASE("A measured table far below the links is compared, and the user warned") {
  const TempFolder folder;
  std::ofstream(folder / "nccl.log") << "# size count type redop root time algbw busbw\n"
                                        " 1073741824 16777216 float none -1 40265.32 26.67 25.00 0\n";
  const Ran ran = collective("all_to_all --ranks 16 --measured " + (folder / "nccl.log") + " " + kRail);
  CHECK(ran.code == 0);
  CHECK(ran.err.find("measured busbw 25 GB/s is 27 % of the ideal 93.72 GB/s") != std::string::npos);
}

TEST_CASE("Wrong input is named") {
  CHECK(collective("all_to_all --topology h100_rail_25").err.find("did you mean 'h100_rail_256'") != std::string::npos);
  CHECK(collective("all_to_all --ranks 300 " + kRail).err.find("do not fit into the 256 GPUs") != std::string::npos);
  CHECK(collective("all_to_all -b 1MX " + kRail).code == 2);
  CHECK(collective("dispatch --topk 9 --experts 8 " + kRail).code == 2);
  CHECK(collective("all_too " + kRail).code == 2);
}
