// What a series of timings says: the median, how far samples scatter around it, and how sure it is.
// Medians, because one interrupt moves a mean and leaves a median alone.
#pragma once

#include <cstdint>
#include <span>

namespace tessella::calib {

struct Summary {
  double median = 0.0; // seconds
  double mad = 0.0;    // median absolute deviation from the median, seconds
  double ci95 = 0.0;   // half width of the 95 % confidence interval of the median, relative to it; infinity below 6
  std::int64_t n = 0;
  std::int64_t outliers = 0; // further than 5 * 1.4826 * MAD from the median; counted, and kept in n
  bool operator==(const Summary&) const = default;
};

// All zero for no samples. O(n log n). The interval is distribution-free: order statistics floor((n - 1.96 sqrt(n)) /
// 2) and ceil((n + 1.96 sqrt(n)) / 2) (Hoefler and Belli, SC'15, section 3.1.3).
Summary summary_of(std::span<const double> samples);

double median(std::span<const double> samples); // 0 for none

} // namespace tessella::calib
