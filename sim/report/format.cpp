#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/check.h"

namespace tessella {
namespace {

int decimals_for(double value) {
  const double magnitude = std::fabs(value);
  return magnitude < 10.0 ? 3 : magnitude < 100.0 ? 2 : magnitude < 1000.0 ? 1 : 0;
}

} // namespace

std::string format_duration(Duration d) {
  struct Unit {
    double ps;
    const char* name;
  };
  constexpr Unit units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}};
  const double ps = static_cast<double>(d.ps);
  for (const Unit& unit : units) {
    const double value = ps / unit.ps;
    if (std::fabs(value) >= 1.0) return fmt::format("{:.{}f} {}", value, decimals_for(value), unit.name);
  }
  return d.ps == 0 ? "0 s" : fmt::format("{} ps", d.ps);
}

std::string format_count(std::int64_t n) {
  std::string text = fmt::format("{}", n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string format_gib(Bytes b) {
  return fmt::format("{:.2f}", static_cast<double>(b.count) / 1073741824.0);
}

std::string format_percent(double fraction) {
  return fmt::format("{:.1f} %", fraction * 100.0);
}

double to_seconds(Duration d) {
  return static_cast<double>(d.ps) / 1e12;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool c1_control = byte == 0xc2 && next >= 0x80 && next < 0xa0; // U+0080..U+009F in UTF-8
    if (byte < 0x20 || byte == 0x7f || c1_control)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += text[i];
  }
  return out;
}

std::string wrap(std::string_view text, int width, int indent) {
  std::string out;
  int column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const int length = static_cast<int>(word.size());
    if (column > indent && column + 1 + length > width) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent), ' ');
      column = indent;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
    at = end + 1;
  }
  return out;
}

RankCoordinates coordinates(const Parallelism& p, std::int64_t rank) {
  const std::int64_t per_position = p.world_size / p.pp; // ranks of one pipeline rank
  return {rank % p.tp, rank / p.tp % p.cp, rank / (p.tp * p.cp) % p.dp(), rank / per_position,
          rank % per_position / p.etp % p.ep};
}

std::string rank_name(const Parallelism& p, std::int64_t rank) {
  const RankCoordinates at = coordinates(p, rank);
  const std::string context = p.cp > 1 ? fmt::format("-CP{:02}", at.cp) : "";
  return fmt::format("[TP{:02}{}-DP{:02}-PP{:02}-EP{:02}]", at.tp, context, at.dp, at.pp, at.ep);
}

const RankMemory& fullest(const MemoryReport& memory) {
  const auto at = static_cast<std::size_t>(memory.peak_rank);
  TSL_CHECK_OP(at, <, memory.ranks.size());
  return memory.ranks[at];
}

std::int32_t lane_index(const RunResult& result, std::string_view lane) {
  const auto it = std::find(result.lanes.begin(), result.lanes.end(), lane);
  return it == result.lanes.end() ? 0 : static_cast<std::int32_t>(it - result.lanes.begin());
}

} // namespace tessella
