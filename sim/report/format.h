// How numbers and names look in every report: units spelled out, four significant digits, no locale. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/domain/parallelism.h"
#include "sim/ledger/result.h"

namespace tessella {

std::string format_duration(Duration d);     // "5.926 s", "812.4 ms", "37.50 us", "8.000 ns", "250 ps"
std::string format_count(std::int64_t n);    // "12,288"
std::string format_gib(Bytes b);             // "71.25", in units of 2^30 bytes
std::string format_percent(double fraction); // "22.3 %"

// Seconds as the double nearest to the exact value, so that 5926400000000 ps reads 5.9264 and not 5.926399999999999.
double to_seconds(Duration d);

// A name from a user's file, safe for a terminal: control characters become \xNN.
std::string printable(std::string_view text);

// Words of `text` in lines that end before column `width`. The first line is taken to start at column `indent`, where
// the later ones are put with spaces.
std::string wrap(std::string_view text, int width, int indent);

// Position of a rank in both grids (rank order tp-cp-dp-pp, experts etp-ep-edp-pp on the same ranks).
struct RankCoordinates {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
  std::int64_t pp = 0;
  std::int64_t ep = 0;
  bool operator==(const RankCoordinates&) const = default;
};
RankCoordinates coordinates(const Parallelism& p, std::int64_t rank);

// "[TP00-DP01-PP00-EP00]"; with context parallelism "[TP00-CP01-DP01-PP00-EP00]".
std::string rank_name(const Parallelism& p, std::int64_t rank);

// Memory of the fullest pipeline rank.
const RankMemory& fullest(const MemoryReport& memory);

// Index of a lane by name; lane 0 when the run has no such lane.
std::int32_t lane_index(const RunResult& result, std::string_view lane);

} // namespace tessella
