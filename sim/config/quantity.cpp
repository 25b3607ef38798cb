#include "sim/config/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/nearest.h"
#include "sim/config/input_limits.h"
#include "sim/config/message.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

// One unit is 10^decimal * factor of the SI unit. The decimal part is joined to the number's own exponent before it
// becomes a double, so nothing is rounded twice; the factors are powers of two, which are exact.
struct Unit {
  const char* name;
  int decimal;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr Unit kBytes[] = {{"B", 0, 1},
                           {"kB", 3, 1},
                           {"MB", 6, 1},
                           {"GB", 9, 1},
                           {"TB", 12, 1},
                           {"KiB", 0, kKi},
                           {"MiB", 0, kKi* kKi},
                           {"GiB", 0, kKi* kKi* kKi},
                           {"TiB", 0, kKi* kKi* kKi* kKi}};
constexpr Unit kBandwidths[] = {
    {"B/s", 0, 1},      {"kB/s", 3, 1},     {"MB/s", 6, 1},         {"GB/s", 9, 1},
    {"TB/s", 12, 1},    {"KiB/s", 0, kKi},  {"MiB/s", 0, kKi* kKi}, {"GiB/s", 0, kKi* kKi* kKi},
    {"Mb/s", 6, 0.125}, {"Gb/s", 9, 0.125}, {"Tb/s", 12, 0.125}};
constexpr Unit kTimes[] = {{"ps", -12, 1}, {"ns", -9, 1}, {"us", -6, 1}, {"ms", -3, 1}, {"s", 0, 1}};
constexpr Unit kFlopRates[] = {{"FLOPS", 0, 1}, {"GFLOPS", 9, 1}, {"TFLOPS", 12, 1}, {"PFLOPS", 15, 1}};
constexpr Unit kPlain[] = {{"", 0, 1}, {"%", -2, 1}};

struct DimensionSpec {
  const char* name;
  std::span<const Unit> units;
  const char* example;
  double min;
  double max;
};

const DimensionSpec& spec(Dimension dimension) {
  static constexpr DimensionSpec kSpecs[] = {
      {"a plain number", kPlain, "0.85", 0, kMaxPlain},
      {"time", kTimes, "1.5 us", 0, kMaxTime},
      {"size", kBytes, "80 GiB", 0, kMaxSize},
      {"bandwidth", kBandwidths, "450 GB/s", kMinBandwidth, kMaxBandwidth},
      {"flop rate", kFlopRates, "989 TFLOPS", kMinFlopRate, kMaxFlopRate},
  };
  return kSpecs[static_cast<std::size_t>(dimension)];
}

// A decimal number at the start of a text: [+-] digits [. digits] [e [+-] digits].
struct Decimal {
  std::string_view mantissa; // without a leading +
  std::int64_t exponent = 0;
  std::size_t length = 0; // characters read; 0 = there is no number
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::size_t skip_sign(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '-' || text[at] == '+') ? at + 1 : at;
}

Decimal scan_decimal(std::string_view text) {
  const std::size_t begin = skip_sign(text, 0);
  std::size_t end = skip_digits(text, begin);
  std::size_t digits = end - begin;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = skip_digits(text, end + 1);
    digits += fraction - end - 1;
    end = fraction;
  }
  if (digits == 0) return {};
  Decimal out{text.substr(text[0] == '+' ? 1 : 0, end - (text[0] == '+' ? 1 : 0)), 0, end};
  if (end == text.size() || (text[end] != 'e' && text[end] != 'E')) return out;
  const std::size_t power = skip_sign(text, end + 1);
  const std::size_t power_end = skip_digits(text, power);
  if (power_end == power) return out;
  // Exponents that do not fit are clamped: the value overflows or vanishes all the same.
  constexpr std::int64_t kClamp = 100'000;
  const char* last = text.data() + power_end;
  if (std::from_chars(text.data() + power, last, out.exponent).ec != std::errc()) out.exponent = kClamp;
  out.exponent = std::min(out.exponent, kClamp) * (text[power - 1] == '-' ? -1 : 1);
  out.length = power_end;
  return out;
}

// mantissa * 10^(exponent + shift), correctly rounded; nothing when a double cannot hold it.
std::optional<double> to_double(const Decimal& number, int shift) {
  const std::string text = fmt::format("{}e{}", number.mantissa, number.exponent + shift);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && edit_distance(a, b) == 0;
}

// "; did you mean 'GB/s' or 'Gb/s'?": all units that differ in case only, else the nearest one.
std::string suggest_unit(std::string_view typed, const DimensionSpec& dimension) {
  std::vector<std::string> names;
  std::string by_case;
  for (const Unit& unit : dimension.units) {
    names.emplace_back(unit.name);
    if (same_ignoring_case(typed, unit.name))
      by_case += fmt::format("{}'{}'", by_case.empty() ? "; did you mean " : " or ", unit.name);
  }
  if (!by_case.empty()) return by_case + "?";
  if (const auto unit = nearest_word(typed, names)) return fmt::format("; did you mean '{}'?", *unit);
  return fmt::format("; its units are {}", comma_list(names));
}

const Unit& find_unit(std::string_view name, const DimensionSpec& dimension, std::string_view text,
                      const SourceSpan& where) {
  for (const Unit& unit : dimension.units)
    if (name == unit.name) return unit;
  if (name.empty())
    throw InputError(where, fmt::format("{} has no unit for {}; write for example '{}'", in_quotes(text),
                                        dimension.name, dimension.example));
  if (dimension.units.data() == kPlain)
    throw InputError(
        where, fmt::format("{} is not {}; write for example '{}'", in_quotes(text), dimension.name, dimension.example));
  throw InputError(
      where, fmt::format("unknown unit {} for {}{}", in_quotes(name), dimension.name, suggest_unit(name, dimension)));
}

struct Parsed {
  Decimal number;
  const Unit* unit;
};

Parsed parse(std::string_view text, const DimensionSpec& dimension, const SourceSpan& where) {
  const Decimal number = scan_decimal(text);
  if (number.length == 0)
    throw InputError(where, fmt::format("{} is not a number with a unit for {}; write for example '{}'",
                                        in_quotes(text), dimension.name, dimension.example));
  std::string_view rest = text.substr(number.length);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return {number, &find_unit(rest, dimension, text, where)};
}

void check_bounds(double value, std::string_view text, Dimension dimension, const SourceSpan& where) {
  const DimensionSpec& d = spec(dimension);
  if (value < 0.0 || std::signbit(value))
    throw InputError(where, fmt::format("{}: {} must not be negative", in_quotes(text), d.name));
  if (value == 0.0 && d.min > 0.0)
    throw InputError(where, fmt::format("{}: {} must be above 0", in_quotes(text), d.name));
  if (value < d.min)
    throw InputError(where, fmt::format("{}: {} is below the limit of {}", in_quotes(text), d.name,
                                        quantity_text(d.min, dimension)));
  if (value > d.max)
    throw InputError(where, fmt::format("{}: {} is above the limit of {}", in_quotes(text), d.name,
                                        quantity_text(d.max, dimension)));
}

// value * 10^-shift in decimal, from the shortest digits that name the value: moving the point rounds nothing.
std::string shifted(double value, int shift) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  const int point = exponent - shift + 1; // digits before the decimal point
  const int count = static_cast<int>(digits.size());
  if (value == 0.0) return "0";
  if (point > 15 || point < -4)
    return fmt::format("{}{}{}e{}", digits[0], count > 1 ? "." : "", digits.substr(1), point - 1);
  if (point <= 0) return fmt::format("0.{}{}", std::string(static_cast<std::size_t>(-point), '0'), digits);
  if (point >= count) return digits + std::string(static_cast<std::size_t>(point - count), '0');
  return fmt::format("{}.{}", digits.substr(0, static_cast<std::size_t>(point)),
                     digits.substr(static_cast<std::size_t>(point)));
}

// The shortest spelling of value * 10^-base over the units; ties go to the earlier unit.
std::string shortest(double value, int base, std::span<const Unit> units) {
  std::string best;
  for (const Unit& unit : units) {
    const std::string text = fmt::format("{} {}", shifted(value / unit.factor, unit.decimal + base), unit.name);
    if (best.empty() || text.size() < best.size()) best = text;
  }
  return best;
}

} // namespace

double parse_quantity(std::string_view text, Dimension dimension, const SourceSpan& where) {
  const auto [number, unit] = parse(text, spec(dimension), where);
  const auto value = to_double(number, unit->decimal);
  if (!value) throw InputError(where, fmt::format("{}: the number is outside the range of a double", in_quotes(text)));
  check_bounds(*value * unit->factor, text, dimension, where);
  return *value * unit->factor;
}

Bytes parse_bytes(std::string_view text, const SourceSpan& where) {
  const double value = parse_quantity(text, Dimension::bytes, where);
  if (value != std::floor(value))
    throw InputError(where, fmt::format("{} is not a whole number of bytes", in_quotes(text)));
  if (value == 0.0) throw InputError(where, fmt::format("{}: size must be above 0", in_quotes(text)));
  return {static_cast<std::int64_t>(value)};
}

Bandwidth parse_bandwidth(std::string_view text, const SourceSpan& where) {
  return {parse_quantity(text, Dimension::bandwidth, where)};
}

FlopRate parse_flop_rate(std::string_view text, const SourceSpan& where) {
  return {parse_quantity(text, Dimension::flop_rate, where)};
}

Duration parse_duration(std::string_view text, const SourceSpan& where) {
  return round_to_picoseconds(parse_quantity(text, Dimension::seconds, where));
}

std::optional<double> to_number(std::string_view text) {
  const Decimal number = scan_decimal(text);
  if (number.length == 0 || number.length != text.size()) return std::nullopt;
  return to_double(number, 0);
}

std::string quantity_text(double si, Dimension dimension) {
  TSL_CHECK(std::isfinite(si) && si >= 0.0);
  if (dimension == Dimension::plain) return shifted(si, 0);
  return shortest(si, 0, spec(dimension).units);
}

std::string bytes_text(Bytes bytes) {
  return quantity_text(static_cast<double>(bytes.count), Dimension::bytes);
}

std::string duration_text(Duration duration) {
  TSL_CHECK_OP(duration.ps, >=, 0);
  return shortest(static_cast<double>(duration.ps), 12, kTimes);
}

} // namespace tessella
