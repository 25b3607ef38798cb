// Collectives of ranks that share memory: threads of one process, or processes of one machine (calib/launch maps the
// block for those). Each rank owns an outbox in the block; a collective is "publish, wait for the others, read theirs",
// two copies per byte, with no kernel call on the way. Sums run in rank order, so every rank gets the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "calib/host/crew.h"

namespace tessella::calib {

// When a collective was entered here, when the last rank entered it, and when it was over here (wall_seconds()).
// [begin, last_arrival) is waiting for late ranks; the rest is the collective.
struct ExchangeTimes {
  double begin = 0.0;
  double last_arrival = 0.0;
  double end = 0.0;
};

inline constexpr int kMaxHostRanks = 64;

// Bytes of a block for `ranks` outboxes of `capacity` floats each. It must start as zeros and be 64-byte aligned.
std::size_t comm_block_bytes(int ranks, std::int64_t capacity);

class HostComm {
 public:
  // `block` and `stop` must outlive this. All ranks construct one with the same arguments but their rank.
  HostComm(void* block, int rank, int ranks, std::int64_t capacity, const StopFlag& stop);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Every function is collective: all ranks call it in the same order. They throw Stopped once `stop` is set.
  ExchangeTimes barrier();
  // in = parts for rank 0, 1, ... of in_counts floats; out = parts from rank 0, 1, ...; out_counts is filled. `out`
  // must have room for what arrives (our bug otherwise).
  ExchangeTimes all_to_all(std::span<const float> in, std::span<const std::int64_t> in_counts, std::span<float> out,
                           std::span<std::int64_t> out_counts);
  ExchangeTimes all_reduce(std::span<float> values);
  // The parts as if they were one vector.
  ExchangeTimes all_reduce(std::span<const std::span<float>> parts);
  ExchangeTimes all_gather(std::span<const float> in, std::span<float> out);     // out = ranks * in
  ExchangeTimes reduce_scatter(std::span<const float> in, std::span<float> out); // in = ranks * out

 private:
  struct Outbox;
  Outbox& outbox(int rank) const;
  float* data(int rank) const;
  template <class Publish, class Read>
  ExchangeTimes exchange(Publish publish, Read read);
  template <class Ready>
  void wait_for_others(Ready ready) const;

  std::byte* block_;
  int rank_;
  int ranks_;
  std::int64_t capacity_;
  const StopFlag* stop_;
  bool yields_; // more ranks than cores: waiting must let the others run
  std::uint64_t epoch_ = 0;
};

} // namespace tessella::calib
