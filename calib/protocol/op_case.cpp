#include "calib/protocol/op_case.h"

#include <fmt/format.h>

#include <charconv>

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

// fp32 sums of thousands of terms stay below 1e-5, bf16 operands between 1e-3 and 1e-2, fp8 (3 mantissa bits) below
// 0.1.
double error_limit(const std::string& dtype) {
  if (dtype.starts_with("fp8")) return 0.1;
  if (dtype == "bf16") return 0.02;
  return 1e-4;
}

} // namespace tessella::calib
