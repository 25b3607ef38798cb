#include "calib/protocol/op_case.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tessella::calib {

std::int64_t OpShape::dim(const std::string& name) const {
  for (const auto& [key, value] : dims)
    if (key == name) return value;
  return 0;
}

std::string OpShape::dims_text() const {
  std::string text;
  for (const auto& [key, value] : dims) text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  return text;
}

std::string OpShape::text() const {
  std::string line = op;
  if (!kernel.empty()) line += fmt::format(" ({})", kernel);
  if (!dtype.empty()) line += fmt::format(" {}", dtype);
  if (!dims.empty()) line += fmt::format(" {}", dims_text());
  if (ranks > 1) line += fmt::format(" on {} ranks", ranks);
  return line;
}

std::vector<std::pair<std::string, std::int64_t>> parse_dims(const std::string& text) {
  std::vector<std::pair<std::string, std::int64_t>> dims;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::size_t equals = text.find('=', at);
    std::int64_t value = 0;
    const char* last = text.data() + end;
    if (equals == std::string::npos || equals >= end || equals == at)
      throw std::invalid_argument(fmt::format("'{}' is not a list of name=number", text));
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, last, value);
    if (error != std::errc{} || stop != last)
      throw std::invalid_argument(fmt::format("'{}' is not a list of name=number", text));
    dims.emplace_back(text.substr(at, equals - at), value);
    at = end + 1;
  }
  return dims;
}

std::vector<std::int64_t> expert_tokens(const OpShape& shape) {
  const std::int64_t experts = shape.dim("experts");
  const std::int64_t total = shape.dim("tokens");
  const double skew = 0.01 * static_cast<double>(shape.dim("skew"));
  std::vector<std::int64_t> tokens;
  double exact = 0.0;
  std::int64_t given = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    const double place = experts > 1 ? 2.0 * static_cast<double>(e) / static_cast<double>(experts - 1) - 1.0 : 0.0;
    exact += static_cast<double>(total) / static_cast<double>(experts) * (1.0 + skew * place);
    const std::int64_t upto = e + 1 == experts ? total : std::llround(exact); // rounding errors do not add up
    tokens.push_back(upto - given);
    given = upto;
  }
  return tokens;
}

double OpCase::tolerance(const OpShape& shape) const {
  return error_limit(shape.dtype);
}

// fp32 sums of thousands of terms stay below 1e-5, bf16 operands between 1e-3 and 1e-2, fp8 (3 mantissa bits) below
// 0.1.
double error_limit(const std::string& dtype) {
  if (dtype.starts_with("fp8")) return 0.1;
  if (dtype == "bf16") return 0.02;
  return 1e-4;
}

} // namespace tessella::calib
