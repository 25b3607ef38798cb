#include "sim/config/quantity.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/base/rng.h"
#include "sim/config/input_limits.h"

using namespace tessella;

namespace {

const SourceSpan kHere{"--size", 0, 0, 0, {}};

double si(const std::string& text, Dimension d) {
  return parse_quantity(text, d, kHere);
}

std::string refusal(const std::string& text, Dimension d) {
  try {
    parse_quantity(text, d, kHere);
  } catch (const InputError& error) {
    return error.message();
  }
  return "accepted";
}

} // namespace

TEST_CASE("quantity: every unit has its value") {
  // Prefixes of the SI brochure and of IEC 80000-13; bits are an eighth of a byte.
  CHECK(si("1 B", Dimension::bytes) == 1);
  CHECK(si("1 kB", Dimension::bytes) == 1e3);
  CHECK(si("1 MB", Dimension::bytes) == 1e6);
  CHECK(si("1 GB", Dimension::bytes) == 1e9);
  CHECK(si("1 TB", Dimension::bytes) == 1e12);
  CHECK(si("1 KiB", Dimension::bytes) == 1024);
  CHECK(si("1 MiB", Dimension::bytes) == 1048576);
  CHECK(si("1 GiB", Dimension::bytes) == 1073741824);
  CHECK(si("1 TiB", Dimension::bytes) == 1099511627776);
  CHECK(si("2000000 B/s", Dimension::bandwidth) == 2e6);
  CHECK(si("2000 kB/s", Dimension::bandwidth) == 2e6);
  CHECK(si("2 MB/s", Dimension::bandwidth) == 2e6);
  CHECK(si("2 GB/s", Dimension::bandwidth) == 2e9);
  CHECK(si("2 TB/s", Dimension::bandwidth) == 2e12);
  CHECK(si("1024 KiB/s", Dimension::bandwidth) == 1048576);
  CHECK(si("1 MiB/s", Dimension::bandwidth) == 1048576);
  CHECK(si("1 GiB/s", Dimension::bandwidth) == 1073741824);
  CHECK(si("400 Gb/s", Dimension::bandwidth) == 50e9);
  CHECK(si("0.8 Tb/s", Dimension::bandwidth) == 100e9);
  CHECK(si("800 Mb/s", Dimension::bandwidth) == 100e6);
  CHECK(si("3 ps", Dimension::seconds) == 3e-12);
  CHECK(si("3 ns", Dimension::seconds) == 3e-9);
  CHECK(si("3 us", Dimension::seconds) == 3e-6);
  CHECK(si("3 ms", Dimension::seconds) == 3e-3);
  CHECK(si("3 s", Dimension::seconds) == 3);
  CHECK(si("2e9 FLOPS", Dimension::flop_rate) == 2e9);
  CHECK(si("2 GFLOPS", Dimension::flop_rate) == 2e9);
  CHECK(si("989.4 TFLOPS", Dimension::flop_rate) == 989.4e12);
  CHECK(si("1.5 PFLOPS", Dimension::flop_rate) == 1.5e15);
  CHECK(si("85 %", Dimension::plain) == 0.85);
  CHECK(si("0.85", Dimension::plain) == 0.85);
}

TEST_CASE("quantity: decimal units are rounded once") {
  CHECK(si("0.3 us", Dimension::seconds) == 0.3e-6);
  CHECK(si("0.57 GB", Dimension::bytes) == 570000000.0);
  CHECK(si("1.1e-3 ms", Dimension::seconds) == 1.1e-6);
  CHECK(si("2 %", Dimension::plain) == 0.02);
}

TEST_CASE("quantity: spelling of numbers and spaces") {
  CHECK(si("64MiB", Dimension::bytes) == 67108864);
  CHECK(si("64   MiB", Dimension::bytes) == 67108864);
  CHECK(si("+1.5e3 B", Dimension::bytes) == 1500);
  CHECK(si(".5 GB/s", Dimension::bandwidth) == 5e8);
  CHECK(si("5. GB/s", Dimension::bandwidth) == 5e9);
  for (const char* bad : {"", " ", "GB/s", "- 5 GB/s", "0x10 GB/s", "1,5 GB/s", "5 GB/s x", "nan GB/s", "inf GB/s",
                          "1e GB/s", "5 gB/s", "--5 GB/s", "5\tGB/s", "1e99999999999999999999 GB/s", "1e-400 GB/s"})
    CHECK_THROWS_AS(si(bad, Dimension::bandwidth), InputError);
}

TEST_CASE("quantity: what is refused, and why") {
  CHECK(refusal("450 GBs", Dimension::bandwidth) == "unknown unit 'GBs' for bandwidth; did you mean 'GB/s'?");
  CHECK(refusal("450 gb/s", Dimension::bandwidth) ==
        "unknown unit 'gb/s' for bandwidth; did you mean 'GB/s' or 'Gb/s'?");
  CHECK(refusal("450", Dimension::bandwidth) == "'450' has no unit for bandwidth; write for example '450 GB/s'");
  CHECK(refusal("0 GB/s", Dimension::bandwidth) == "'0 GB/s': bandwidth must be above 0");
  CHECK(refusal("-0 us", Dimension::seconds) == "'-0 us': time must not be negative");
  CHECK(refusal("1 kB/s", Dimension::bandwidth) == "'1 kB/s': bandwidth is below the limit of 1 MB/s");
  CHECK(refusal("1e9 TB", Dimension::bytes) == "'1e9 TB': size is above the limit of 1048576 TiB");
  CHECK(refusal("1001 s", Dimension::seconds) == "'1001 s': time is above the limit of 1000 s");
  CHECK(refusal("2 us", Dimension::plain) == "'2 us' is not a plain number; write for example '0.85'");
  CHECK(refusal("0 us", Dimension::seconds) == "accepted");
}

TEST_CASE("quantity: typed forms") {
  CHECK(parse_bytes("80 GiB", kHere) == Bytes{85899345920});
  CHECK(parse_bytes("1 TiB", kHere) == Bytes{1099511627776});
  CHECK_THROWS_AS(parse_bytes("0.5 B", kHere), InputError);
  CHECK_THROWS_AS(parse_bytes("0 B", kHere), InputError);
  CHECK(parse_duration("0.3 us", kHere) == Duration{300000});
  CHECK(parse_duration("0.4 ps", kHere) == Duration{1}); // work that is not empty takes at least 1 ps
  CHECK(parse_bandwidth("50 GB/s", kHere) == Bandwidth{50e9});
  CHECK(parse_flop_rate("1 TFLOPS", kHere) == FlopRate{1e12});
  CHECK(to_number("1e3") == 1000.0);
  CHECK(!to_number("1e3x"));
  CHECK(!to_number(".nan"));
  CHECK(!to_number("1e400"));
}

TEST_CASE("quantity: the written form is short") {
  CHECK(quantity_text(450e9, Dimension::bandwidth) == "450 GB/s");
  CHECK(quantity_text(3e-6, Dimension::seconds) == "3 us");
  CHECK(quantity_text(0.85, Dimension::plain) == "0.85");
  CHECK(quantity_text(0.0, Dimension::seconds) == "0 s");
  CHECK(quantity_text(989.4e12, Dimension::flop_rate) == "989.4 TFLOPS");
  CHECK(bytes_text({85899345920}) == "80 GiB");
  CHECK(bytes_text({1000}) == "1 kB");
  CHECK(duration_text({300000}) == "300 ns");
  CHECK(duration_text({0}) == "0 s");
}

TEST_CASE("quantity: written and read back is the same bits") {
  const Stream stream(7, Purpose::test);
  const struct {
    Dimension dimension;
    double min, max;
  } ranges[] = {{Dimension::bytes, 1e-3, kMaxSize},
                {Dimension::seconds, 1e-15, kMaxTime},
                {Dimension::bandwidth, kMinBandwidth, kMaxBandwidth},
                {Dimension::flop_rate, kMinFlopRate, kMaxFlopRate},
                {Dimension::plain, 1e-12, kMaxPlain}};
  std::uint64_t draw = 0;
  for (const auto& r : ranges)
    for (int i = 0; i < 2000; ++i) {
      const double value = r.min * std::pow(r.max / r.min, stream.uniform(draw++));
      const std::string text = quantity_text(value, r.dimension);
      INFO(text);
      CHECK(si(text, r.dimension) == value);
    }
  for (int i = 0; i < 2000; ++i) {
    const Duration d{static_cast<std::int64_t>(std::pow(kMaxTime * 1e12, stream.uniform(draw++)))};
    INFO(duration_text(d));
    CHECK(parse_duration(duration_text(d), kHere) == d);
  }
}
