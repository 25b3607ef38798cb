// The measurement protocol on simulated kernels and clocks: every rule of it can be seen without a device.
#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "calib/protocol/measure.h"
#include "calib/protocol/random_fill.h"
#include "calib/protocol/statistics.h"
#include "calib/protocol/work_queue.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

// Time passes only when a kernel says so.
struct FakeDevice {
  double now = 0.0;
  std::vector<std::size_t> launches; // sets, in order
  std::deque<double> costs;          // of the next launches; then `cost`
  double cost = 1e-3;
  std::int64_t samples = 0;
  std::int64_t throttle_every = 0; // each so manieth sample is throttled and takes ten times as long
};

class FakeTimer : public Timer {
 public:
  explicit FakeTimer(FakeDevice& d) : d_(d) {}
  double seconds_of(const std::function<void()>& work) override {
    const double begin = d_.now;
    work();
    return d_.now - begin;
  }

 private:
  FakeDevice& d_;
};

class FakeClocks : public ClockSource {
 public:
  explicit FakeClocks(FakeDevice& d) : d_(d) {}
  void begin() override {
    ++d_.samples;
    throttled_ = d_.throttle_every > 0 && d_.samples % d_.throttle_every == 0;
    if (throttled_) d_.costs.push_front(10.0 * d_.cost);
  }
  DeviceState end() override {
    DeviceState s;
    s.throttled = throttled_;
    s.reason = throttled_ ? "thermal slowdown" : "";
    s.clock_mhz = 1980.0;
    return s;
  }

 private:
  FakeDevice& d_;
  bool throttled_ = false;
};

class FakeCase : public OpCase {
 public:
  FakeCase(FakeDevice& d, double error) : d_(d), error_(error) {}
  Work work() const override { return {1e6, 1e3, 1000}; }
  void prepare(std::size_t n) override { sets = n; }
  void launch(std::size_t set) override {
    CHECK(set < sets);
    d_.launches.push_back(set);
    double cost = d_.cost;
    if (!d_.costs.empty()) {
      cost = d_.costs.front();
      d_.costs.pop_front();
    }
    d_.now += cost;
  }
  double verify() override { return error_; }

  std::size_t sets = 0;

 private:
  FakeDevice& d_;
  double error_;
};

struct Rig {
  FakeDevice device;
  FakeTimer timer{device};
  FakeClocks clocks{device};
  Backend backend{&timer, &clocks, 10'000, 1'000'000};
  OpShape shape{"gemm", "", "bf16", {{"m", 1}}, 1};
};

} // namespace

TEST_CASE("The median and its scatter, by hand") {
  const std::vector<double> odd = {5.0, 1.0, 3.0};
  CHECK(summary_of(odd).median == 3.0);
  CHECK(summary_of(odd).mad == 2.0); // deviations 2, 2, 0
  const std::vector<double> even = {4.0, 1.0, 3.0, 2.0};
  CHECK(summary_of(even).median == 2.5);
  CHECK(summary_of(even).mad == 1.0); // 1.5, 1.5, 0.5, 0.5
  CHECK(summary_of({}).n == 0);
}

TEST_CASE("The interval of the median is that of order statistics") {
  std::vector<double> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  // n = 100: ranks floor((100 - 19.6) / 2) = 40 and ceil((100 + 19.6) / 2) + 1 = 61.
  CHECK(summary_of(samples).ci95 == doctest::Approx(0.5 * (61.0 - 40.0) / 50.5));
  CHECK(std::isinf(summary_of(std::vector<double>{1.0, 1.0, 1.0}).ci95));
}

TEST_CASE("One interrupt moves neither median nor interval, and is counted") {
  std::vector<double> samples;
  for (int i = 0; i < 50; ++i) samples.push_back(1.0 + 0.001 * (i % 5));
  samples.push_back(30.0);
  const Summary s = summary_of(samples);
  CHECK(s.median == doctest::Approx(1.002));
  CHECK(s.ci95 < 0.002);
  CHECK(s.outliers == 1);
}

TEST_CASE("A steady kernel stops at the fewest samples, a noisy one goes on to the limit") {
  StopLimits limits;
  limits.max_samples = 200;
  limits.max_seconds = 1e9;
  ConfidenceStop steady(limits);
  while (!steady.finished()) steady.add(1.0);
  CHECK(steady.samples().size() == 11);
  ConfidenceStop noisy(limits);
  int i = 0;
  while (!noisy.finished()) noisy.add(i++ % 2 == 0 ? 1.0 : 2.0);
  CHECK(noisy.samples().size() == 200);
  limits.max_seconds = 5.0;
  ConfidenceStop slow(limits);
  while (!slow.finished()) slow.add(1.0);
  CHECK(slow.samples().size() == 5); // time is up before there are enough
}

TEST_CASE("Cold inputs rotate over more than three caches; hot ones stay") {
  Rig rig;
  FakeCase op(rig.device, 0.0);
  const auto all = measure(op, rig.shape, rig.backend, {});
  CHECK(op.sets == 31); // 3 * 10000 / 1000 + 1
  REQUIRE(all.size() == 2);
  CHECK(all[0].temperature == Temperature::cold);
  const auto& launches = rig.device.launches;
  std::vector<std::size_t> distinct(op.sets, 0);
  for (const std::size_t set : launches) ++distinct[set];
  for (std::size_t set = 0; set < 10; ++set) CHECK(distinct[set] >= 1);
  // The last measurement is hot: set 0 only.
  CHECK(all[1].temperature == Temperature::hot);
  for (std::size_t i = launches.size() - 11; i < launches.size(); ++i) CHECK(launches[i] == 0);
}

TEST_CASE("The number of cold sets is bounded by the memory and by reason") {
  const Backend backend{nullptr, nullptr, 1'000'000, 4'000'000};
  CHECK(cold_sets({0, 0, 10'000'000}, backend) == 1); // does not even fit once: one set, prepare() will say so
  CHECK(cold_sets({0, 0, 2'000'000}, backend) == 2);  // one alone exceeds the cache; the other is for rotation
  CHECK(cold_sets({0, 0, 1'500'000}, backend) == 2);  // three wanted, two fit
  CHECK(cold_sets({0, 0, 100}, backend) == 1024);
}

TEST_CASE("Throttled samples are dropped and counted, and leave the median alone") {
  Rig rig;
  rig.device.throttle_every = 3;
  FakeCase op(rig.device, 0.0);
  const auto all = measure(op, rig.shape, rig.backend, {}, {Temperature::cold});
  CHECK(all[0].summary.median == doctest::Approx(1e-3));
  CHECK(all[0].summary.n == 11);
  CHECK(all[0].throttled == 5);
  CHECK(all[0].throttle_reason == "thermal slowdown");
  CHECK(all[0].clock_mhz == 1980.0);
}

TEST_CASE("A device that is always throttled gives no number") {
  Rig rig;
  rig.device.throttle_every = 1;
  FakeCase op(rig.device, 0.0);
  CHECK_THROWS_AS(measure(op, rig.shape, rig.backend, {}), ThrottledThroughout);
}

TEST_CASE("A wrong result is never timed; not-a-number is wrong") {
  Rig rig;
  FakeCase wrong(rig.device, 0.5);
  CHECK_THROWS_AS(measure(wrong, rig.shape, rig.backend, {}), WrongResult);
  CHECK(rig.device.launches.size() == 1); // the one that was checked
  FakeCase undefined(rig.device, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(measure(undefined, rig.shape, rig.backend, {}), WrongResult);
}

TEST_CASE("Warm-up goes on until launches stop getting faster") {
  Rig rig;
  rig.device.costs = {9.0, 8.0, 6.0, 4.0, 2.0, 1e-3}; // the check, then warm-up
  FakeCase op(rig.device, 0.0);
  const auto all = measure(op, rig.shape, rig.backend, {}, {Temperature::hot});
  CHECK(all[0].summary.median == doctest::Approx(1e-3));
  CHECK(all[0].summary.outliers == 0);
}

TEST_CASE("Short kernels are timed in batches, and reported per launch") {
  Rig rig;
  rig.device.cost = 1e-6;
  FakeCase op(rig.device, 0.0);
  MeasureOptions options;
  options.batch_seconds = 1e-4;
  const auto all = measure(op, rig.shape, rig.backend, options, {Temperature::hot});
  CHECK(all[0].batch == 100);
  CHECK(all[0].summary.median == doctest::Approx(1e-6));
}

TEST_CASE("Random inputs are never all zero, repeat with the seed and have mean zero") {
  std::vector<float> a(10'000);
  std::vector<float> b(10'000);
  fill_random(a, 7);
  fill_random(b, 7);
  CHECK(a == b);
  fill_random(b, 8);
  CHECK(a != b);
  double sum = 0.0;
  double squares = 0.0;
  for (const float x : a) {
    CHECK(x >= -1.0F);
    CHECK(x < 1.0F);
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  CHECK(std::abs(sum / 1e4) < 0.03);
  CHECK(squares / 1e4 == doctest::Approx(1.0 / 3.0).epsilon(0.05));
}

TEST_CASE("The weightiest shape of every op comes before any second shape") {
  const OpShape big{"gemm", "", "bf16", {{"m", 1}}, 1};
  const OpShape small{"gemm", "", "bf16", {{"m", 2}}, 1};
  const OpShape norm{"norm_fwd", "", "", {{"rows", 3}}, 1};
  const auto jobs = order_by_information({{small, 1.0}, {norm, 0.1}, {big, 2.0}, {small, 0.5}});
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].shape == big);
  CHECK(jobs[1].shape == norm);
  CHECK(jobs[2].shape == small);
  CHECK(jobs[2].step_seconds == 1.5); // both mentions
}

TEST_CASE("A budget is a time with its unit") {
  CHECK(parse_budget("90s") == 90.0);
  CHECK(parse_budget("10m") == 600.0);
  CHECK(parse_budget("1.5h") == 5400.0);
  for (const char* text : {"10", "m", "-1m", "10 m", "10min", "nan s", "1e9h"})
    CHECK_THROWS_AS(parse_budget(text), InputError);
}
