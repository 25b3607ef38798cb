// Any text is either a layout that survives the round trip or an error with a column inside the text.
#include <doctest/doctest.h>

#include <string_view>

#include "sim/base/rng.h"
#include "sim/domain/layout.h"

using namespace tessella;

namespace {

std::string random_text(std::uint64_t entity) {
  constexpr std::string_view alphabet = "EtmLtttt||||(())***,0123456789 x\xff";
  const Stream stream(11, Purpose::test, entity);
  std::string text = stream.word(0) % 2 == 0 ? "Et" : "";
  const std::uint64_t length = stream.word(1) % 24;
  for (std::uint64_t i = 0; i < length; ++i) text += alphabet[stream.word(2 + i) % alphabet.size()];
  return stream.word(30) % 2 == 0 ? text + "L" : text;
}

// A well-formed layout with one character replaced.
std::string mutated_text(std::uint64_t entity) {
  std::string text = entity % 2 == 0 ? "Et*2|(tt|)*22t|(tt|)*7mL" : "Et*3|(tt|)*29,m|L";
  const Stream stream(12, Purpose::test, entity);
  constexpr std::string_view alphabet = "EtmL|()*,0123456789";
  text[stream.word(0) % text.size()] = alphabet[stream.word(1) % alphabet.size()];
  return text;
}

// 1 when the text is a layout.
int check(const std::string& text) {
  try {
    const Partition p = parse_layout(text);
    CHECK_MESSAGE(parse_layout(to_layout(p)) == p, text);
    return 1;
  } catch (const LayoutError& e) {
    const bool inside = e.column() >= 1 && e.column() <= static_cast<int>(text.size()) + 1;
    CHECK_MESSAGE(inside, text);
    return 0;
  }
}

} // namespace

TEST_CASE("random layout strings") {
  int parsed = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) parsed += check(random_text(i));
  CHECK(parsed > 500);
}

TEST_CASE("layout strings with one wrong character") {
  int parsed = 0;
  for (std::uint64_t i = 0; i < 4'000; ++i) parsed += check(mutated_text(i));
  CHECK(parsed > 100);
  CHECK(parsed < 3'900);
}
