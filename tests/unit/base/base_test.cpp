// Units, errors, random streams and suggestions.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/nearest.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"

using namespace tessella;

TEST_CASE("64 MiB at 50 GB/s take 1.34217728 ms") {
  CHECK((Bytes{64 << 20} / Bandwidth{50e9}).ps == 1342177280);
}

TEST_CASE("Rounding is to the nearest picosecond and never to nothing") {
  CHECK(round_to_picoseconds(0.0).ps == 0);
  CHECK(round_to_picoseconds(1e-15).ps == 1);
  CHECK(round_to_picoseconds(1.4e-12).ps == 1);
  CHECK(round_to_picoseconds(1.6e-12).ps == 2);
  CHECK((Bytes{1} / Bandwidth{INFINITY}).ps == 0);
  CHECK_THROWS_AS(round_to_picoseconds(-1.0), InternalError);
  CHECK_THROWS_AS(round_to_picoseconds(NAN), InternalError);
  CHECK_THROWS_AS(round_to_picoseconds(1e9), InternalError);
}

TEST_CASE("An input error prints position, line and caret") {
  const SourceSpan where{"t/h200.yaml", 14, 16, 8, "    bandwidth: 450 GBs"};
  const InputError error(where, "unknown unit 'GBs'", {{std::nullopt, "use GB/s"}});
  CHECK(format_error(error) == "t/h200.yaml:14:16: error: unknown unit 'GBs'\n"
                               "   14 |     bandwidth: 450 GBs\n"
                               "      |                ^~~~~~~~\n"
                               "note: use GB/s\n");
}

TEST_CASE("Suggestions tolerate typos, not guesses") {
  const std::vector<std::string> words = {"tensor_model_parallel_size", "seq_length", "GB/s"};
  CHECK(nearest("GBs", words) == "GB/s");
  CHECK(nearest("sequence_length", words) == "seq_length");
  CHECK(nearest("zebra", words) == std::nullopt);
  CHECK(edit_distance("ab", "ba") == 1);
}

TEST_CASE("Draws depend on seed, purpose, entity and index, and on nothing else") {
  const Stream a(1, Purpose::test, 7);
  CHECK(a.word(3) == Stream(1, Purpose::test, 7).word(3));
  CHECK(a.word(3) != Stream(2, Purpose::test, 7).word(3));
  CHECK(a.word(3) != Stream(1, Purpose::sampling, 7).word(3));
  CHECK(a.word(3) != Stream(1, Purpose::test, 8).word(3));
  CHECK(a.word(3) != a.word(4));
}

TEST_CASE("Normal draws have mean 0 and variance 1") {
  const Stream s(42, Purpose::test);
  double sum = 0.0;
  double square = 0.0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = s.normal(static_cast<std::uint64_t>(i));
    sum += x;
    square += x * x;
  }
  CHECK(std::abs(sum / n) < 4.0 / std::sqrt(n));
  CHECK(std::abs(square / n - 1.0) < 4.0 * std::sqrt(2.0 / n));
  CHECK(inverse_normal_cdf(0.975) == doctest::Approx(1.959963985).epsilon(1e-8));
}
