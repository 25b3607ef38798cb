// Messages between pipeline stages: posted by the producer, taken by the consumer, one arrival time per rank.
// Buffers are recycled, so memory follows the messages in flight, not the micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace tessella {

struct Message {
  enum class Way : std::uint8_t { activation, gradient };
};

class MessageBoard {
 public:
  MessageBoard(std::int32_t stages, std::int32_t micro_batches, std::size_t ranks)
      : ranks_(ranks), micro_batches_(micro_batches),
        slot_(2 * static_cast<std::size_t>(stages) * static_cast<std::size_t>(micro_batches)) {}

  // The message that stage `to` receives for a micro-batch.
  bool has(Message::Way way, std::int32_t to, std::int32_t mb) const { return slot_[key(way, to, mb)] != 0; }

  // Opens a message; the producer fills in the arrival times. Invalidates other spans.
  std::span<Time> post(Message::Way way, std::int32_t to, std::int32_t mb, Duration flight) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(flight_.size()));
      flight_.emplace_back();
      arrivals_.resize(arrivals_.size() + ranks_);
    }
    const std::int32_t buffer = free_.back();
    free_.pop_back();
    std::int32_t& slot = slot_[key(way, to, mb)];
    TSL_CHECK_OP(slot, ==, 0);
    slot = buffer + 1;
    flight_[static_cast<std::size_t>(buffer)] = flight;
    return span(buffer);
  }
  std::span<const Time> arrival(Message::Way way, std::int32_t to, std::int32_t mb) {
    return span(buffer(way, to, mb));
  }
  Duration flight(Message::Way way, std::int32_t to, std::int32_t mb) const {
    return flight_[static_cast<std::size_t>(buffer(way, to, mb))];
  }
  void take(Message::Way way, std::int32_t to, std::int32_t mb) {
    free_.push_back(buffer(way, to, mb));
    slot_[key(way, to, mb)] = 0;
  }
  bool empty() const { return free_.size() == flight_.size(); }

 private:
  std::size_t key(Message::Way way, std::int32_t to, std::int32_t mb) const {
    const auto line = 2 * static_cast<std::size_t>(to) + static_cast<std::size_t>(way);
    return line * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(mb);
  }
  std::int32_t buffer(Message::Way way, std::int32_t to, std::int32_t mb) const {
    const std::int32_t b = slot_[key(way, to, mb)];
    TSL_CHECK_OP(b, >, 0);
    return b - 1;
  }
  std::span<Time> span(std::int32_t buffer) {
    return std::span(arrivals_).subspan(static_cast<std::size_t>(buffer) * ranks_, ranks_);
  }

  std::size_t ranks_;
  std::int32_t micro_batches_;
  std::vector<std::int32_t> slot_; // buffer + 1, 0 = no message
  std::vector<Time> arrivals_;     // [buffer][rank]
  std::vector<Duration> flight_;   // [buffer]
  std::vector<std::int32_t> free_;
};

} // namespace tessella
