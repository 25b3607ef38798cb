// Runs a fuzz target over its corpus without libFuzzer: each stored input, all its beginnings, and seeded mutations,
// the same ones every time.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/base/rng.h"
#include "tests/support/fuzz.h"

namespace {

constexpr int kMutationsPerInput = 400;

void feed(const std::string& bytes) {
  // An exact copy on the heap, so that a sanitizer sees a read beyond the end.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// One to four edits: another byte, a byte more, a byte less, or a piece repeated.
std::string mutate(std::string bytes, tessella::Stream draws) {
  const std::uint64_t edits = 1 + draws.word(0) % 4;
  for (std::uint64_t e = 0; e < edits; ++e) {
    const std::size_t at = bytes.empty() ? 0 : draws.word(4 * e + 1) % bytes.size();
    const auto byte = static_cast<char>(draws.word(4 * e + 2) & 0xff);
    switch (draws.word(4 * e + 3) % 4) {
    case 0:
      if (!bytes.empty()) bytes[at] = byte;
      break;
    case 1:
      bytes.insert(at, 1, byte);
      break;
    case 2:
      if (!bytes.empty()) bytes.erase(at, 1);
      break;
    default:
      bytes.insert(at, bytes.substr(at, draws.word(4 * e + 4) % 16));
    }
  }
  return bytes;
}

} // namespace

TEST_CASE("Every stored input, its beginnings and its mutations are read or refused") {
  const std::string folder = std::string("tests/fuzz/corpus/") + tessella::testing::kFuzzTarget;
  std::vector<std::filesystem::path> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) corpus.push_back(entry.path());
  std::sort(corpus.begin(), corpus.end());
  REQUIRE_FALSE(corpus.empty());

  for (std::size_t i = 0; i < corpus.size(); ++i) {
    INFO(corpus[i].string());
    std::ifstream in(corpus[i], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::size_t stride = std::max<std::size_t>(1, bytes.size() / 500); // at most some 500 beginnings
    CHECK_NOTHROW(feed(bytes));
    for (std::size_t n = 0; n < bytes.size(); n += stride) CHECK_NOTHROW(feed(bytes.substr(0, n)));
    const tessella::Stream draws(1, tessella::Purpose::test, i);
    for (std::uint64_t m = 0; m < kMutationsPerInput; ++m) CHECK_NOTHROW(feed(mutate(bytes, draws.substream(m))));
  }
}
