#include "sim/report/comm_ledger.h"

#include <fmt/format.h>

#include "sim/report/format.h"

namespace tessella {
namespace {

std::string csv_text(const std::string& text) {
  const std::string plain = printable(text);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string out = "\"";
  for (const char c : plain) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

} // namespace

std::string comm_ledger_text(const CommLedger& ledger) {
  std::string out = fmt::format("{:<22} {:<12} {:<14} {:>8} {:>14} {:>14}\n", "communication", "phase", "group",
                                "count", "sum, GB", "largest, MB");
  for (const CommRow& r : ledger)
    out += fmt::format("{:<22} {:<12} {:<14} {:>8} {:>14.3f} {:>14.3f}\n", printable(r.type), printable(r.phase),
                       printable(r.group), r.count, static_cast<double>(r.bytes.count) * 1e-9,
                       static_cast<double>(r.largest.count) * 1e-6);
  return out;
}

std::string comm_ledger_csv(const CommLedger& ledger) {
  std::string out = "type,phase,group,count,bytes,largest_bytes\n";
  for (const CommRow& r : ledger)
    out += fmt::format("{},{},{},{},{},{}\n", csv_text(r.type), csv_text(r.phase), csv_text(r.group), r.count,
                       r.bytes.count, r.largest.count);
  return out;
}

} // namespace tessella
