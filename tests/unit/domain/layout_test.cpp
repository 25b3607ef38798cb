#include "sim/domain/layout.h"

#include <doctest/doctest.h>

#include "tests/support/legality_plan.h"

using namespace tessella;
using test::layers_per_stage;

namespace {

using Counts = std::vector<std::int64_t>;

int error_column(const std::string& layout) {
  try {
    parse_layout(layout);
  } catch (const LayoutError& e) {
    return e.column();
  }
  return 0;
}

std::string error_text(const std::string& layout) {
  try {
    parse_layout(layout);
  } catch (const LayoutError& e) {
    return e.what();
  }
  return {};
}

} // namespace

TEST_CASE("a layout string lists stages in pipeline order") {
  const Partition p = parse_layout("Ett|t|mL");
  REQUIRE(p.stages.size() == 3);
  CHECK(p.stages[0] == StageContent{0, 2, 0, true, false});
  CHECK(p.stages[1] == StageContent{2, 1, 0, false, false});
  CHECK(p.stages[2] == StageContent{3, 0, 1, false, true});
}

TEST_CASE("repeats, groups and cosmetic commas") {
  CHECK(layers_per_stage(parse_layout("Et*3|t*2L")) == Counts{3, 2});
  CHECK(layers_per_stage(parse_layout("E|(tt|)*3L")) == Counts{0, 2, 2, 2, 0});
  CHECK(layers_per_stage(parse_layout("E,t,|,(t,t|)*2,L")) == Counts{1, 2, 2, 0});
  CHECK(layers_per_stage(parse_layout("E|(t*2|t|)*2L")) == Counts{0, 2, 1, 2, 1, 0});
  CHECK(layers_per_stage(parse_layout("E(t|t)*3L")) == Counts{1, 2, 2, 1});
  CHECK(layers_per_stage(parse_layout("Et*1,0|L")) == Counts{10, 0});
  CHECK(layers_per_stage(parse_layout("Et*0|tL")) == Counts{0, 1});
  CHECK(layers_per_stage(parse_layout("Et|*3tL")) == Counts{1, 0, 0, 1});
}

TEST_CASE("errors name the column") {
  CHECK(error_column("Et|xL") == 4);
  CHECK(error_column("Et|(tt|L") == 4);
  CHECK(error_column("Et|(tt|)L") == 4);
  CHECK(error_column("Et|()*2L") == 4);
  CHECK(error_column("Et|((t)*2|)*2L") == 5);
  CHECK(error_column("Et*|L") == 4);
  CHECK(error_column("Et*2*2|L") == 5);
  CHECK(error_column("Et|)L") == 4);
  CHECK(error_column("*2EtL") == 1);
  CHECK(error_column("Et |L") == 3);
  CHECK(error_column("t|EL") == 1);
  CHECK(error_column("Et|EtL") == 4);
  CHECK(error_column("EtL|t") == 5);
  CHECK(error_column("EtL*2") == 3);
  CHECK(error_column("Etm|tL") == 5);
  CHECK(error_column("") == 1);
  CHECK(error_column("Et|t") == 5);
  CHECK(error_column("Et\xc3\xa9|L") == 3);
}

TEST_CASE("a layout that expands without bound is refused before it is built") {
  CHECK(error_column("E(t|)*1000000000L") > 0);
  CHECK(error_column("Et*99999999999999999999999L") > 0);
  CHECK(error_text("E(t*1000|)*1001L").find("limit of 1000000") != std::string::npos);
  CHECK(error_column("Et*999998L") == 0);
}

TEST_CASE("to_layout folds runs") {
  CHECK(to_layout(parse_layout("Et|(tt|)*30mL")) == "Et|(tt|)*30mL");
  CHECK(to_layout(parse_layout("E|tttt|tttt|ttttL")) == "E|t*4|t*4|t*4L");
  CHECK(to_layout(parse_layout("E|t*4|t*4|t*4|t*4L")) == "E|(t*4|)*3t*4L");
  CHECK(to_layout(parse_layout("E||||t|L")) == "E||||t|L");
  CHECK(to_layout(parse_layout("EttmL")) == "EttmL");
  CHECK(to_layout(parse_layout("Et|L|||||||||")) == "Et|L|(|)*8");
  CHECK(to_layout(Partition{}).empty());
}

TEST_CASE("balanced split and partition from counts") {
  CHECK(balanced_split(30, 4) == Counts{8, 8, 7, 7});
  CHECK(balanced_split(8, 4) == Counts{2, 2, 2, 2});
  const Partition p = partition_of(Counts{3, 0, 2}, 1);
  CHECK(to_layout(p) == "Ettt||ttmL");
  CHECK(p.stages[2].first_layer == 3);
}
