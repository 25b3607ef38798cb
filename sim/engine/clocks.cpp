#include "sim/engine/clocks.h"

namespace tessella {

void advance_all(std::span<Time> clock, Duration d) {
  for (Time& t : clock) t = t + d;
}

void advance_each(std::span<Time> clock, std::span<const Duration> work, std::span<Duration> booked) {
  const std::size_t n = clock.size();
  for (std::size_t r = 0; r < n; ++r) {
    clock[r] = clock[r] + work[r];
    booked[r] += work[r];
  }
}

void meet(std::span<Time> clock, std::size_t width, Duration d, std::span<Duration> waited) {
  for (std::size_t block = 0; block < clock.size(); block += width) {
    const std::span<Time> members = clock.subspan(block, width);
    const Time start = latest(members);
    for (std::size_t r = 0; r < width; ++r) {
      waited[block + r] += start - members[r];
      members[r] = start + d;
    }
  }
}

void wait_until(std::span<Time> clock, std::span<const Time> ready, Duration flight, std::span<Duration> in_flight,
                std::span<Duration> idle) {
  const std::size_t n = clock.size();
  for (std::size_t r = 0; r < n; ++r) {
    const Duration wait = max(Duration{0}, ready[r] - clock[r]);
    const Duration flying = min(wait, flight);
    in_flight[r] += flying;
    idle[r] += wait - flying;
    clock[r] = clock[r] + wait;
  }
}

Time latest(std::span<const Time> times) {
  Time t = times.front();
  for (const Time other : times) t = max(t, other);
  return t;
}

} // namespace tessella
