// torch's own files: read, written back byte for byte, checked, and reproduced by our generators and our lowering.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/schedule/table.h"
#include "sim/schedule/torch_csv.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

constexpr const char* kFolder = "../shared/data/torch_csv/";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct File {
  const char* name;
  const char* schedule;
  std::int32_t pp, vpp, m;
  bool comms;
};

constexpr File kFiles[] = {
    {"1f1b_2rank_3mb_comms.csv", "1f1b", 2, 1, 3, true},
    {"1f1b_4rank_8mb_comms.csv", "1f1b", 4, 1, 8, true},
    {"1f1b_4rank_8mb_compute.csv", "1f1b", 4, 1, 8, false},
    {"interleaved1f1b_4rank_2stage_8mb_compute.csv", "interleaved_1f1b_torch", 4, 2, 8, false},
    {"zb1p_2rank_2stage_8mb_compute_I_notation.csv", "interleaved_zb", 2, 2, 8, false},
    {"zbv_2rank_4mb_comms.csv", "zb_v", 2, 2, 4, true},
    {"zbv_4rank_8mb_compute.csv", "zb_v", 4, 2, 8, false},
    {"dualpipev_2rank_4mb_comms.csv", "dualpipe_v", 2, 2, 4, true},
    {"dualpipev_4rank_10mb.csv", "dualpipe_v", 4, 2, 10, false},
};

} // namespace

TEST_CASE("Every torch file round-trips, is sound, and is what we generate") {
  if (!std::filesystem::exists(kFolder)) {
    MESSAGE("skipped: no " << kFolder);
    return;
  }
  for (const File& file : kFiles) {
    CAPTURE(file.name);
    const std::string text = read(std::string(kFolder) + file.name);
    REQUIRE(!text.empty());
    CHECK(to_csv(parse_torch_csv(text, file.name)) == text);
    ScheduleSpec spec;
    spec.name = file.schedule;
    const Schedule ours = make_schedule(spec, file.pp, file.vpp, file.m);
    const ImportedSchedule theirs = import_torch_csv(text, file.name, ours.name);
    CHECK(theirs.notes.empty());
    CHECK(!validate(theirs.schedule));
    CHECK(theirs.schedule == ours);
    CHECK(to_csv(file.comms ? lower_to_comms(ours) : to_torch_grid(ours)) == text);
  }
}
