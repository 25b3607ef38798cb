// The readers of schedule files meet damaged files: they answer with a schedule or an InputError, nothing else.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/rng.h"
#include "sim/schedule/table.h"
#include "sim/schedule/text.h"
#include "sim/schedule/torch_csv.h"

using namespace tessella;

namespace {

// A few edits: a byte replaced, a piece cut out, a piece doubled.
std::string damaged(std::string text, const Stream& stream) {
  const std::string alphabet = "0123456789FBIWXSENDRCV_(;),\n\r\t -#=";
  std::uint64_t i = 0;
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(stream.word(i++) % below); };
  for (std::size_t edits = 1 + draw(3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = draw(text.size());
    const std::size_t length = 1 + draw(12);
    switch (draw(3)) {
    case 0:
      text[at] = alphabet[draw(alphabet.size())];
      break;
    case 1:
      text.erase(at, length);
      break;
    default:
      text.insert(at, text.substr(at, length));
      break;
    }
  }
  return text;
}

template <class Read>
int count_refused(const std::string& text, std::uint64_t files, Read read) {
  int refused = 0;
  for (std::uint64_t k = 0; k < files; ++k) {
    const std::string bad = damaged(text, Stream(11, Purpose::test, k));
    CAPTURE(bad);
    try {
      read(bad);
    } catch (const InputError& error) {
      ++refused;
      CHECK_FALSE(format_error(error).empty());
    }
  }
  return refused;
}

Schedule make(const char* name, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  ScheduleSpec spec;
  spec.name = name;
  return make_schedule(spec, pp, vpp, m);
}

} // namespace

TEST_CASE("Damaged torch files are refused or read, never worse") {
  const auto read = [](const std::string& text) { import_torch_csv(text, "fuzz.csv", "fuzz"); };
  CHECK(count_refused(to_csv(to_torch_grid(make("dualpipe_v", 2, 2, 4))), 3000, read) > 1500);
  CHECK(count_refused(to_csv(lower_to_comms(make("zb_v", 2, 2, 3))), 3000, read) > 1500);
  CHECK(count_refused("0F0,0B0,0W0\n1F0,1BW0\n", 3000, read) > 1500);
}

TEST_CASE("Damaged grids are refused or read, never worse") {
  const auto read = [](const std::string& text) { parse_grid(text, "fuzz.txt"); };
  CHECK(count_refused(to_grid(make("dualpipe", 2, 1, 4)), 3000, read) > 1500);
  CHECK(count_refused(to_grid(make("interleaved_1f1b_shadow", 2, 2, 3)), 3000, read) > 1500);
}
