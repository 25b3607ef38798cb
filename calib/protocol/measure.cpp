#include "calib/protocol/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace tessella::calib {
namespace {

// Medians of what the device reported, where it reported anything.
class DeviceLog {
 public:
  void add(const DeviceState& state) {
    if (state.clock_mhz) clock_.push_back(*state.clock_mhz);
    if (state.power_w) power_.push_back(*state.power_w);
    if (state.temperature_c) temperature_.push_back(*state.temperature_c);
  }
  void write_to(Measurement& m) const {
    m.clock_mhz = median_if_any(clock_);
    m.power_w = median_if_any(power_);
    m.temperature_c = median_if_any(temperature_);
  }

 private:
  static std::optional<double> median_if_any(const std::vector<double>& v) {
    return v.empty() ? std::nullopt : std::optional(median(v));
  }
  std::vector<double> clock_;
  std::vector<double> power_;
  std::vector<double> temperature_;
};

double checked_result(OpCase& op, const OpShape& shape, const Backend& backend) {
  backend.timer->seconds_of([&] { op.launch(0); });
  const double error = op.verify();
  const double limit = op.tolerance(shape);
  if (!(error <= limit)) // not a number never passes
    throw WrongResult(
        fmt::format("{}: relative error {:.3g} against the reference, limit {:.3g}", shape.text(), error, limit));
  return error;
}

// Launches in turn over the sets.
class Rotation {
 public:
  Rotation(OpCase& op, std::size_t sets) : op_(op), sets_(sets) {}
  void run(std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) {
      op_.launch(next_);
      next_ = (next_ + 1) % sets_;
    }
  }

 private:
  OpCase& op_;
  std::size_t sets_;
  std::size_t next_ = 0;
};

// Until launches stop getting faster by more than a tenth; returns the seconds of the last.
double warm_up(Rotation& rotation, const Backend& backend, std::int64_t at_least) {
  constexpr std::int64_t kMost = 20;
  double last = 0.0;
  for (std::int64_t i = 0; i < kMost; ++i) {
    const double seconds = backend.timer->seconds_of([&] { rotation.run(1); });
    const bool settled = i > 0 && seconds > 0.9 * last;
    last = seconds;
    if (i + 1 >= at_least && settled) break;
  }
  return last;
}

std::int64_t batch_size(double batch_seconds, double launch_seconds) {
  if (launch_seconds <= 0.0) return 1;
  return std::clamp<std::int64_t>(std::llround(batch_seconds / launch_seconds), 1, 10'000);
}

void give_up_if_throttled(const OpShape& shape, const Measurement& m, std::int64_t kept, double share) {
  const std::int64_t all = m.throttled + kept;
  if (all < 50 || static_cast<double>(m.throttled) <= share * static_cast<double>(all)) return;
  throw ThrottledThroughout(
      fmt::format("{}: {} of {} samples were held back ({})", shape.text(), m.throttled, all, m.throttle_reason));
}

Measurement sample(OpCase& op, const OpShape& shape, const Backend& backend, const MeasureOptions& options,
                   Temperature temperature, std::size_t sets) {
  Measurement m;
  m.temperature = temperature;
  Rotation rotation(op, sets);
  m.batch = batch_size(options.batch_seconds, warm_up(rotation, backend, options.warmup));
  ConfidenceStop stop(options.stop);
  DeviceLog log;
  while (!stop.finished()) {
    backend.clocks->begin();
    const double seconds = backend.timer->seconds_of([&] { rotation.run(m.batch); });
    const DeviceState state = backend.clocks->end();
    if (state.throttled) {
      ++m.throttled;
      m.throttle_reason = state.reason;
      give_up_if_throttled(shape, m, static_cast<std::int64_t>(stop.samples().size()), options.throttled_share);
      continue;
    }
    log.add(state);
    stop.add(seconds / static_cast<double>(m.batch));
  }
  log.write_to(m);
  m.summary = summary_of(stop.samples());
  return m;
}

} // namespace

const char* name(Temperature t) {
  return t == Temperature::cold ? "cold" : "hot";
}

std::size_t cold_sets(const Work& work, const Backend& backend, std::size_t rotate_bytes) {
  const std::size_t one = std::max<std::size_t>(1, work.footprint);
  const std::size_t all = std::max(3 * backend.cache_bytes, rotate_bytes);
  const std::size_t wanted = std::clamp<std::size_t>(all / one + 1, 2, 1024);
  return std::clamp<std::size_t>(backend.memory_bytes / one, 1, wanted);
}

std::vector<Measurement> measure(OpCase& op, const OpShape& shape, const Backend& backend,
                                 const MeasureOptions& options, const std::vector<Temperature>& temperatures) {
  TSL_CHECK(backend.timer != nullptr && backend.clocks != nullptr);
  const bool cold = std::find(temperatures.begin(), temperatures.end(), Temperature::cold) != temperatures.end();
  const std::size_t sets = cold ? cold_sets(op.work(), backend, options.rotate_bytes) : 1;
  op.prepare(sets);
  const double error = checked_result(op, shape, backend);
  std::vector<Measurement> all;
  for (const Temperature t : temperatures) {
    all.push_back(sample(op, shape, backend, options, t, t == Temperature::cold ? sets : 1));
    all.back().error = error;
  }
  return all;
}

} // namespace tessella::calib
