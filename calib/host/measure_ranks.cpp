#include "calib/host/measure_ranks.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>

#include "calib/host/cases.h"
#include "calib/host/crew.h"
#include "calib/host/host_clock.h"
#include "calib/host/host_comm.h"
#include "calib/host/state_case.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kSetMemory = std::size_t{256} << 20;

Backend host_backend(HostTimer& timer, SchedulerClock& clocks) {
  return {&timer, &clocks, private_cache(), kSetMemory};
}

RawRow failed_row(const OpShape& shape, Temperature t, RowStatus status, const std::string& why) {
  RawRow row;
  row.shape = shape;
  row.measurement.temperature = t;
  row.status = status;
  row.note = why;
  return row;
}

// The mean of the ranks' medians; scatter and confidence of the worst.
Measurement over_ranks(const std::vector<Measurement>& ranks) {
  Measurement all = ranks.front();
  const double n = static_cast<double>(ranks.size());
  all.summary = {};
  all.throttled = 0;
  for (const Measurement& m : ranks) {
    all.summary.median += m.summary.median / n;
    all.summary.mad = std::max(all.summary.mad, m.summary.mad);
    all.summary.ci95 = std::max(all.summary.ci95, m.summary.ci95);
    all.summary.n += m.summary.n;
    all.summary.outliers += m.summary.outliers;
    all.throttled += m.throttled;
    if (m.throttled > 0) all.throttle_reason = m.throttle_reason;
    all.error = std::max(all.error, m.error);
  }
  return all;
}

std::vector<std::vector<Measurement>> measure_everywhere(const OpShape& shape, int ranks, const MeasureOptions& options,
                                                         const std::vector<Temperature>& temperatures) {
  std::vector<std::vector<Measurement>> results(static_cast<std::size_t>(ranks));
  std::atomic<int> measuring = ranks;
  StopFlag stop = false;
  run_ranks(ranks, stop, [&](int rank) {
    HostTimer timer;
    SchedulerClock clocks;
    const std::unique_ptr<OpCase> op = host_case(shape);
    results[static_cast<std::size_t>(rank)] = measure(*op, shape, host_backend(timer, clocks), options, temperatures);
    // Stay busy until the last is done, so that nobody measures beside an idle core.
    for (--measuring; measuring > 0 && !stop;) op->launch(0);
  });
  return results;
}

// Zeroed memory of one communicator.
struct Block {
  Block(int ranks, std::int64_t capacity)
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, comm_block_bytes(ranks, capacity))), std::free) {
    TSL_CHECK(memory != nullptr);
    std::memset(memory.get(), 0, comm_block_bytes(ranks, capacity));
  }
  std::unique_ptr<std::byte, void (*)(void*)> memory;
};

// Buffers of one rank for one collective, and the call. Returns what the call took after the last rank came.
class CollectiveCall {
 public:
  CollectiveCall(const OpShape& shape, HostComm& comm) : op_(shape.op), comm_(comm) {
    const auto n = static_cast<std::size_t>(comm.ranks());
    const auto size = static_cast<std::size_t>(shape.dim("bytes")) / sizeof(float);
    full_.resize(std::max<std::size_t>(n, size / n * n));
    part_.resize(full_.size() / n);
    other_.resize(full_.size());
    fill_random(full_, 17);
    fill_random(part_, 18);
    counts_.assign(n, static_cast<std::int64_t>(part_.size()));
    got_.resize(n);
  }
  double operator()() {
    const ExchangeTimes t = call();
    return t.end - t.last_arrival;
  }

 private:
  ExchangeTimes call() {
    if (op_ == "all_to_all") return comm_.all_to_all(full_, counts_, other_, got_);
    if (op_ == "all_reduce") return comm_.all_reduce(full_);
    if (op_ == "all_gather") return comm_.all_gather(part_, full_);
    TSL_CHECK(op_ == "reduce_scatter");
    return comm_.reduce_scatter(full_, part_);
  }

  std::string op_;
  HostComm& comm_;
  std::vector<float> full_;
  std::vector<float> part_;
  std::vector<float> other_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> got_;
};

// Rank 0 copies a message, as a pipeline stage does, and rank 1 reads it; the copy is timed.
class MessageCopy {
 public:
  MessageCopy(std::vector<float>& message, std::vector<float>& place, HostComm& comm)
      : message_(message), place_(place), comm_(comm) {}
  double operator()() {
    double seconds = 0.0;
    if (comm_.rank() == 0) {
      for (float& x : message_) x = -x; // just computed: in the sender's cache
      const double begin = wall_seconds();
      std::copy(message_.begin(), message_.end(), place_.begin());
      seconds = wall_seconds() - begin;
    }
    comm_.barrier();
    if (comm_.rank() == 1) sum_ += std::accumulate(place_.begin(), place_.end(), 0.0F);
    comm_.barrier();
    return seconds;
  }
  float sum() const { return sum_; }

 private:
  std::vector<float>& message_;
  std::vector<float>& place_;
  HostComm& comm_;
  float sum_ = 0.0F;
};

// What happened in one call: seconds summed over ranks, and whether any rank was kept from running.
struct Sample {
  double seconds = 0.0;
  bool disturbed = false;
};

int call_count(const MeasureOptions& options) {
  return static_cast<int>(std::clamp<std::int64_t>(options.stop.max_samples, 20, 100));
}

// Calls together with the other ranks; the sums over ranks, the same on all.
std::vector<Sample> sample_calls(HostComm& comm, int calls, const std::function<double()>& call) {
  SchedulerClock clocks;
  std::vector<float> sums;            // seconds and disturbed ranks of each call
  for (int i = 0; i < 3; ++i) call(); // warm up
  for (int i = 0; i < calls; ++i) {
    comm.barrier();
    clocks.begin();
    sums.push_back(static_cast<float>(call()));
    sums.push_back(clocks.end().throttled ? 1.0F : 0.0F);
  }
  // One call's sums at a time: an outbox may be no larger than two floats.
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    comm.all_reduce(std::span(sums).subspan(i, 1));
    comm.all_reduce(std::span(sums).subspan(i + 1, 1));
    samples.push_back({static_cast<double>(sums[i]), sums[i + 1] > 0.0F});
  }
  return samples;
}

std::vector<Sample> call_on_ranks(const OpShape& shape, int calls) {
  const int ranks = static_cast<int>(shape.ranks);
  const std::int64_t floats = std::max<std::int64_t>(ranks, shape.dim("bytes") / 4);
  const Block block(ranks, floats);
  std::vector<float> message(static_cast<std::size_t>(floats));
  std::vector<float> place(static_cast<std::size_t>(floats));
  fill_random(message, 19);
  std::vector<Sample> samples;
  StopFlag stop = false;
  run_ranks(ranks, stop, [&](int rank) {
    HostComm comm(block.memory.get(), rank, ranks, floats, stop);
    std::function<double()> call;
    if (shape.op == "send_recv")
      call = MessageCopy(message, place, comm);
    else
      call = CollectiveCall(shape, comm);
    std::vector<Sample> mine = sample_calls(comm, calls, call);
    if (rank == 0) samples = std::move(mine);
  });
  return samples;
}

bool counts_bf16(const OpShape& shape) {
  return shape.op == "all_to_all" || shape.op == "send_recv";
}

} // namespace

std::vector<RawRow> measure_on_ranks(const OpShape& shape, int ranks, const MeasureOptions& options,
                                     const std::vector<Temperature>& temperatures) {
  std::vector<RawRow> rows;
  try {
    const auto results = measure_everywhere(shape, ranks, options, temperatures);
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      std::vector<Measurement> by_rank;
      for (const auto& rank : results) by_rank.push_back(rank[t]);
      RawRow row;
      row.shape = shape;
      row.measurement = over_ranks(by_rank);
      row.work = host_case(shape)->work();
      rows.push_back(row);
    }
  } catch (const WrongResult& error) {
    for (const Temperature t : temperatures)
      rows.push_back(failed_row(shape, t, RowStatus::wrong_result, error.what()));
  } catch (const ThrottledThroughout& error) {
    for (const Temperature t : temperatures) rows.push_back(failed_row(shape, t, RowStatus::throttled, error.what()));
  } catch (const std::invalid_argument& error) {
    for (const Temperature t : temperatures) rows.push_back(failed_row(shape, t, RowStatus::failed, error.what()));
  } catch (const std::bad_alloc&) {
    for (const Temperature t : temperatures)
      rows.push_back(failed_row(shape, t, RowStatus::out_of_memory, "the host has not enough memory"));
  }
  return rows;
}

namespace {

RawRow collective_row(const OpShape& shape, const std::vector<Sample>& samples) {
  RawRow row;
  row.shape = shape;
  row.work.footprint = static_cast<std::size_t>(shape.dim("bytes"));
  row.work.bytes = static_cast<double>(shape.dim("bytes")) * (counts_bf16(shape) ? 0.5 : 1.0);
  std::vector<double> kept;
  for (const Sample& s : samples) {
    if (s.disturbed)
      ++row.measurement.throttled;
    else
      kept.push_back(shape.op == "send_recv" ? s.seconds : s.seconds / static_cast<double>(shape.ranks));
  }
  if (kept.empty()) return failed_row(shape, Temperature::hot, RowStatus::throttled, "preempted in every sample");
  row.measurement.temperature = Temperature::hot; // the buffers stay the same
  row.measurement.summary = summary_of(kept);
  return row;
}

} // namespace

RawRow measure_collective(const OpShape& shape, const MeasureOptions& options) {
  return collective_row(shape, call_on_ranks(shape, call_count(options)));
}

RawRow measure_collective_on(const OpShape& shape, HostComm& comm, const MeasureOptions& options) {
  TSL_CHECK_OP(shape.ranks, ==, comm.ranks());
  return collective_row(shape, sample_calls(comm, call_count(options), CollectiveCall(shape, comm)));
}

RawRow pool(const std::vector<RawRow>& rounds) {
  TSL_CHECK(!rounds.empty());
  std::vector<const RawRow*> good;
  for (const RawRow& row : rounds)
    if (row.status == RowStatus::ok) good.push_back(&row);
  if (good.empty()) return rounds.back();
  RawRow all = *good.front();
  Summary& s = all.measurement.summary;
  std::vector<double> medians;
  std::vector<double> mads;
  s.n = s.outliers = all.measurement.throttled = 0;
  for (const RawRow* row : good) {
    const Measurement& m = row->measurement;
    medians.push_back(m.summary.median);
    mads.push_back(m.summary.mad);
    s.ci95 = std::max(s.ci95, m.summary.ci95);
    s.n += m.summary.n;
    s.outliers += m.summary.outliers;
    all.measurement.throttled += m.throttled;
  }
  s.median = median(medians);
  s.mad = median(mads);
  return all;
}

} // namespace tessella::calib
