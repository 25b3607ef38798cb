// Event order, progress under contention, clocks of a group, parallel tasks: each against arithmetic by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "sim/base/rng.h"
#include "sim/engine/clocks.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/pace.h"
#include "sim/engine/parallel.h"

using namespace tessella;

TEST_CASE("Events leave by time, equal times in the order they came") {
  EventQueue q;
  q.push(Time{5}, 1);
  q.push(Time{3}, 2);
  q.push(Time{5}, 3);
  q.push(Time{3}, 4);
  std::vector<std::int32_t> order;
  while (!q.empty()) order.push_back(q.pop().target);
  CHECK(order == std::vector<std::int32_t>{2, 4, 1, 3});
  CHECK(q.scheduled() == 4);
  CHECK_THROWS_AS(q.pop(), InternalError);
}

TEST_CASE("The heap equals a stably sorted list under random pushes and pops") {
  const Stream dice(11, Purpose::test);
  EventQueue q;
  std::vector<Event> list;
  std::uint64_t draw = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const Time at{static_cast<std::int64_t>(dice.word(draw++) % 50)};
    q.push(at, static_cast<std::int32_t>(i));
    list.push_back({at, i, static_cast<std::int32_t>(i)});
    if (dice.word(draw++) % 3 != 0) continue;
    const auto first =
        std::min_element(list.begin(), list.end(), [](const Event& a, const Event& b) { return HappensAfter{}(b, a); });
    CHECK(q.pop().target == first->target);
    list.erase(first);
  }
}

TEST_CASE("Pace: slowed work takes longer by exactly the factor, rounded up") {
  const Pace half = Pace::slowed_by(1.5);
  CHECK(half.span_for(Duration{1000}).ps == 1500);
  CHECK(half.span_for(Duration{1001}).ps == 1502); // 1501.5
  CHECK(half.work_in(Duration{1500}).ps == 1000);
  CHECK(half.work_in(Duration{1499}).ps == 999);
  CHECK(Pace{}.span_for(Duration{7}).ps == 7);
  CHECK(Pace::slowed_by(1.0).full_speed());
  CHECK_THROWS_AS(Pace::slowed_by(0.9), InternalError);
}

TEST_CASE("Pace: what is not finished at a cut leaves work, what is finished leaves none") {
  const Stream dice(3, Purpose::test);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Duration work{1 + static_cast<std::int64_t>(dice.word(3 * i) % 1'000'000)};
    const Pace pace = Pace::slowed_by(1.0 + static_cast<double>(dice.word(3 * i + 1) % 1000) * 0.003);
    const Duration needed = pace.span_for(work);
    const Duration cut{static_cast<std::int64_t>(dice.word(3 * i + 2) % 3'000'000)};
    CHECK(pace.work_in(needed) >= work);
    if (cut < needed) CHECK(pace.work_in(cut) < work);
  }
}

TEST_CASE("Pace survives an op of a hundred days") {
  const Duration work{9'000'000'000'000'000'000 / 8};
  CHECK(Pace::slowed_by(4.0).span_for(work).ps == work.ps * 4);
}

TEST_CASE("Ranks that meet wait for the last of their block and end together") {
  std::vector<Time> clock = {{10}, {30}, {5}, {7}};
  std::vector<Duration> waited(4);
  meet(clock, 2, Duration{100}, waited);
  CHECK(clock == std::vector<Time>{{130}, {130}, {107}, {107}});
  CHECK(waited == std::vector<Duration>{{20}, {0}, {2}, {0}});
}

TEST_CASE("A rank that is early in one op starts its next one early") {
  // Hot in one op and cold in the next evens out: the maximum after every op would give 10 + 10.
  std::vector<Time> clock(2);
  std::vector<Duration> booked(2);
  std::vector<Duration> waited(2);
  advance_each(clock, std::vector<Duration>{{10}, {2}}, booked);
  advance_each(clock, std::vector<Duration>{{2}, {10}}, booked);
  meet(clock, 2, Duration{0}, waited);
  CHECK(clock == std::vector<Time>{{12}, {12}});
  CHECK(waited == std::vector<Duration>{{0}, {0}});
}

TEST_CASE("Waiting for a message: the time it flew is exposed, the time before is idle") {
  std::vector<Time> clock = {{0}, {90}, {200}};
  const std::vector<Time> ready = {{100}, {100}, {100}};
  std::vector<Duration> flying(3);
  std::vector<Duration> idle(3);
  wait_until(clock, ready, Duration{30}, flying, idle);
  CHECK(clock == std::vector<Time>{{100}, {100}, {200}});
  CHECK(flying == std::vector<Duration>{{30}, {10}, {0}});
  CHECK(idle == std::vector<Duration>{{70}, {0}, {0}});
}

TEST_CASE("Parallel tasks run once each, errors surface in task order, a stop keeps the leading ones") {
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<std::atomic<int>> runs(100);
    CHECK(parallel_for(100, threads, [&](std::size_t i) { ++runs[i]; }) == 100);
    CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; }));
    CHECK_THROWS_AS(parallel_for(100, threads,
                                 [](std::size_t i) {
                                   if (i == 40) throw std::runtime_error("task 40");
                                 }),
                    std::runtime_error);
    std::atomic<bool> stop{true};
    CHECK(parallel_for(
              100, threads, [](std::size_t) {}, &stop) == 0);
  }
}
