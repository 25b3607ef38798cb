// Numbers with units, from text and back. Every dimensioned value carries its unit; units are case-sensitive (GB/s is
// bytes, Gb/s bits). Decimal prefixes are powers of ten, KiB MiB GiB TiB powers of two.
//   bytes      B kB MB GB TB KiB MiB GiB TiB
//   bandwidth  B/s kB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s, Mb/s Gb/s Tb/s
//   seconds    ps ns us ms s
//   flop_rate  FLOPS GFLOPS TFLOPS PFLOPS
//   plain      no unit, or %
// Every function throws InputError at `where`. Values are correctly rounded: "3 us" is the double nearest to 3e-6.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {

// SI value of "450 GB/s"; finite and within the bounds of input_limits.h, never negative.
double parse_quantity(std::string_view text, Dimension dimension, const SourceSpan& where);

Bytes parse_bytes(std::string_view text, const SourceSpan& where); // a whole number of bytes, above 0
Bandwidth parse_bandwidth(std::string_view text, const SourceSpan& where);
FlopRate parse_flop_rate(std::string_view text, const SourceSpan& where);
Duration parse_duration(std::string_view text, const SourceSpan& where);

// A number without unit: decimal, finite, the whole text; nothing otherwise.
std::optional<double> to_number(std::string_view text);

// The shortest text, over all units, that parses back to the same bits.
std::string quantity_text(double si, Dimension dimension);
std::string bytes_text(Bytes bytes);
std::string duration_text(Duration duration);

} // namespace tessella
