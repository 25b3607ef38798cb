// The measurement protocol. Reads from top to bottom as what is done to a kernel before its time is believed:
//
//   prepare   random inputs, never zeros; several sets when caches must not help
//   verify    the result against a reference; a wrong kernel is not timed
//   warm up   until launches stop getting faster (at least 3)
//   sample    batches of launches, each with the device's state around it; throttled ones are dropped and counted
//   stop      on confidence in the median, or at the limits
//
// Two measurements of every kernel, under their own names:
//   cold  inputs rotate over sets that together exceed three times the last-level cache: what training sees
//   hot   the same set every time: the upper bound a cache gives
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calib/protocol/clock_source.h"
#include "calib/protocol/op_case.h"
#include "calib/protocol/statistics.h"
#include "calib/protocol/stopping.h"

namespace tessella::calib {

enum class Temperature { cold, hot };
const char* name(Temperature t);

class Timer {
 public:
  virtual ~Timer() = default;
  // Seconds from the start of `work` until all it launched has completed.
  virtual double seconds_of(const std::function<void()>& work) = 0;
};

struct Backend {
  Timer* timer = nullptr;
  ClockSource* clocks = nullptr;
  std::size_t cache_bytes = 0;  // of the last level
  std::size_t memory_bytes = 0; // that input sets may take
};

struct MeasureOptions {
  StopLimits stop;
  double batch_seconds = 0.0; // a sample times as many launches as take about this long; 0: one
  std::int64_t warmup = 3;
  std::size_t rotate_bytes = 0; // cold inputs rotate over at least so much, where that is more than three caches
  double throttled_share = 0.9; // gives up when more than this share of at least 50 samples was throttled
};

struct Measurement {
  Temperature temperature = Temperature::cold;
  Summary summary; // seconds of one launch
  std::int64_t batch = 1;
  std::int64_t throttled = 0; // samples dropped
  std::string throttle_reason;
  double error = 0.0;
  std::optional<double> clock_mhz; // medians over the samples
  std::optional<double> power_w;
  std::optional<double> temperature_c;
};

// How many input sets a cold measurement needs: together more than three caches (and than `rotate_bytes`), at least 2
// and at most 1024, and no more than fit into memory_bytes (at least 1).
std::size_t cold_sets(const Work& work, const Backend& backend, std::size_t rotate_bytes = 0);

// Throws WrongResult, OutOfMemory (from prepare), and ThrottledThroughout.
std::vector<Measurement> measure(OpCase& op, const OpShape& shape, const Backend& backend,
                                 const MeasureOptions& options,
                                 const std::vector<Temperature>& temperatures = {Temperature::cold, Temperature::hot});

// So many samples were throttled that the rest would not be typical.
class ThrottledThroughout : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace tessella::calib
