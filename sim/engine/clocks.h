// Max-plus algebra on contiguous clocks: what one op does to the clocks of all ranks of a group at once.
// A rank-op costs a fraction of a nanosecond here; nothing is averaged, every rank keeps its own time.
// All arrays have the same length n; O(n), no allocation.
#pragma once

#include <cstddef>
#include <span>

#include "sim/base/units.h"

namespace tessella {

// clock[r] += d
void advance_all(std::span<Time> clock, Duration d);

// clock[r] += work[r]; booked[r] += work[r]
void advance_each(std::span<Time> clock, std::span<const Duration> work, std::span<Duration> booked);

// Blocks of `width` consecutive ranks meet: all wait for their last rank, then spend d together.
//   start = max over block of clock;  waited[r] += start - clock[r];  clock[r] = start + d
void meet(std::span<Time> clock, std::size_t width, Duration d, std::span<Duration> waited);

// Ranks wait for messages that were in flight for the last `flight` before `ready[r]`:
//   wait = max(0, ready[r] - clock[r]);  in_flight[r] += min(wait, flight);  idle[r] += the rest;  clock[r] += wait
void wait_until(std::span<Time> clock, std::span<const Time> ready, Duration flight, std::span<Duration> in_flight,
                std::span<Duration> idle);

Time latest(std::span<const Time> times);

} // namespace tessella
