// A queue of events in one total order: (time, sequence), sequence = order of scheduling. Equal times therefore come
// out first in, first out, on every machine and for every thread count.
//
// Binary heap: push and pop O(log n), no allocation once the capacity has been reached.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace tessella {

struct Event {
  Time at;
  std::uint64_t sequence = 0;
  std::int32_t target = 0; // whom it wakes; the owner of the queue knows what the number means
};

// The one comparator: true when `a` happens after `b`.
struct HappensAfter {
  constexpr bool operator()(const Event& a, const Event& b) const {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
};

class EventQueue {
 public:
  explicit EventQueue(std::size_t capacity = 0) { heap_.reserve(capacity); }

  void push(Time at, std::int32_t target) {
    heap_.push_back({at, next_sequence_++, target});
    std::push_heap(heap_.begin(), heap_.end(), HappensAfter{});
  }
  Event pop() {
    TSL_CHECK(!heap_.empty());
    std::pop_heap(heap_.begin(), heap_.end(), HappensAfter{});
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // How many events were ever scheduled.
  std::uint64_t scheduled() const { return next_sequence_; }
  void clear() {
    heap_.clear();
    next_sequence_ = 0;
  }

 private:
  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

} // namespace tessella
