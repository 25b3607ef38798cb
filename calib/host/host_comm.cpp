#include "calib/host/host_comm.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "calib/host/host_clock.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kLine = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

void pause_a_little() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace

// Zero bytes are a valid empty outbox. Counters are lock-free, so processes may share them.
struct HostComm::Outbox {
  alignas(kLine) std::atomic<std::uint64_t> published; // the last epoch whose data is there
  alignas(kLine) std::atomic<std::uint64_t> read;      // the last epoch this rank has finished reading everywhere
  alignas(kLine) double arrival;
  std::array<std::int64_t, kMaxHostRanks + 1> offsets; // of the part for each rank
};

std::size_t comm_block_bytes(int ranks, std::int64_t capacity) {
  // Outbox is private; its size is bounded by three lines and the offsets.
  const std::size_t header = aligned(3 * kLine + (kMaxHostRanks + 2) * sizeof(std::int64_t));
  return static_cast<std::size_t>(ranks) * (header + aligned(static_cast<std::size_t>(capacity) * sizeof(float)));
}

HostComm::HostComm(void* block, int rank, int ranks, std::int64_t capacity, const StopFlag& stop)
    : block_(static_cast<std::byte*>(block)), rank_(rank), ranks_(ranks), capacity_(capacity), stop_(&stop),
      yields_(static_cast<std::size_t>(ranks) > usable_cpus().size()) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  TSL_CHECK_OP(ranks, <=, kMaxHostRanks);
  TSL_CHECK_OP(comm_block_bytes(1, 0), >=, sizeof(Outbox));
}

HostComm::Outbox& HostComm::outbox(int rank) const {
  const std::size_t one = comm_block_bytes(1, capacity_);
  return *reinterpret_cast<Outbox*>(block_ + static_cast<std::size_t>(rank) * one);
}

float* HostComm::data(int rank) const {
  const std::size_t one = comm_block_bytes(1, capacity_);
  return reinterpret_cast<float*>(block_ + static_cast<std::size_t>(rank) * one + comm_block_bytes(1, 0));
}

template <class Ready>
void HostComm::wait_for_others(Ready ready) const {
  for (int r = 0; r < ranks_; ++r) {
    while (r != rank_ && !ready(outbox(r))) {
      if (stop_->load(std::memory_order_relaxed)) throw Stopped();
      if (yields_)
        sched_yield();
      else
        pause_a_little();
    }
  }
}

// `publish(box, data)` fills the own outbox; `read(r, box, data)` takes what rank r published.
template <class Publish, class Read>
ExchangeTimes HostComm::exchange(Publish publish, Read read) {
  ExchangeTimes t;
  t.begin = wall_seconds();
  const std::uint64_t epoch = ++epoch_;
  // Nobody may still be reading what the last collective left here.
  wait_for_others([&](const Outbox& box) { return box.read.load(std::memory_order_acquire) + 1 >= epoch; });
  Outbox& mine = outbox(rank_);
  mine.arrival = t.begin;
  publish(mine, data(rank_));
  mine.published.store(epoch, std::memory_order_release);
  wait_for_others([&](const Outbox& box) { return box.published.load(std::memory_order_acquire) >= epoch; });
  t.last_arrival = t.begin;
  for (int r = 0; r < ranks_; ++r) {
    t.last_arrival = std::max(t.last_arrival, outbox(r).arrival);
    read(r, outbox(r), data(r));
  }
  mine.read.store(epoch, std::memory_order_release);
  t.end = wall_seconds();
  return t;
}

ExchangeTimes HostComm::barrier() {
  return exchange([](Outbox&, float*) {}, [](int, const Outbox&, const float*) {});
}

ExchangeTimes HostComm::all_to_all(std::span<const float> in, std::span<const std::int64_t> in_counts,
                                   std::span<float> out, std::span<std::int64_t> out_counts) {
  TSL_CHECK_OP(static_cast<std::int64_t>(in.size()), <=, capacity_);
  TSL_CHECK_OP(in_counts.size(), ==, static_cast<std::size_t>(ranks_));
  std::size_t filled = 0;
  return exchange(
      [&](Outbox& box, float* mine) {
        std::inclusive_scan(in_counts.begin(), in_counts.end(), box.offsets.begin() + 1);
        box.offsets[0] = 0;
        std::copy(in.begin(), in.end(), mine);
      },
      [&](int r, const Outbox& box, const float* theirs) {
        const std::int64_t first = box.offsets[static_cast<std::size_t>(rank_)];
        const std::int64_t count = box.offsets[static_cast<std::size_t>(rank_) + 1] - first;
        TSL_CHECK_OP(filled + static_cast<std::size_t>(count), <=, out.size());
        std::copy_n(theirs + first, count, out.begin() + static_cast<std::ptrdiff_t>(filled));
        out_counts[static_cast<std::size_t>(r)] = count;
        filled += static_cast<std::size_t>(count);
      });
}

ExchangeTimes HostComm::all_reduce(std::span<float> values) {
  const std::array parts = {values};
  return all_reduce(parts);
}

ExchangeTimes HostComm::all_reduce(std::span<const std::span<float>> parts) {
  std::int64_t total = 0;
  for (const std::span<float> part : parts) total += static_cast<std::int64_t>(part.size());
  TSL_CHECK_OP(total, <=, capacity_);
  return exchange(
      [&](Outbox&, float* mine) {
        for (const std::span<float> part : parts) mine = std::copy(part.begin(), part.end(), mine);
      },
      [&](int r, const Outbox&, const float* theirs) {
        for (const std::span<float> part : parts) {
          if (r == 0)
            std::copy_n(theirs, part.size(), part.begin());
          else
            for (std::size_t i = 0; i < part.size(); ++i) part[i] += theirs[i];
          theirs += part.size();
        }
      });
}

ExchangeTimes HostComm::all_gather(std::span<const float> in, std::span<float> out) {
  TSL_CHECK_OP(static_cast<std::int64_t>(in.size()), <=, capacity_);
  TSL_CHECK_OP(out.size(), ==, in.size() * static_cast<std::size_t>(ranks_));
  return exchange([&](Outbox&, float* mine) { std::copy(in.begin(), in.end(), mine); },
                  [&](int r, const Outbox&, const float* theirs) {
                    std::copy_n(theirs, in.size(), out.data() + static_cast<std::size_t>(r) * in.size());
                  });
}

ExchangeTimes HostComm::reduce_scatter(std::span<const float> in, std::span<float> out) {
  TSL_CHECK_OP(static_cast<std::int64_t>(in.size()), <=, capacity_);
  TSL_CHECK_OP(in.size(), ==, out.size() * static_cast<std::size_t>(ranks_));
  return exchange([&](Outbox&, float* mine) { std::copy(in.begin(), in.end(), mine); },
                  [&](int r, const Outbox&, const float* theirs) {
                    const float* part = theirs + static_cast<std::size_t>(rank_) * out.size();
                    for (std::size_t i = 0; i < out.size(); ++i) out[i] = r == 0 ? part[i] : out[i] + part[i];
                  });
}

} // namespace tessella::calib
