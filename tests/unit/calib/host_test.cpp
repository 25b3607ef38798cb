// Host kernels against references in double precision, and collectives between threads against plain sums.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "calib/host/cases.h"
#include "calib/host/crew.h"
#include "calib/host/host_clock.h"
#include "calib/host/host_comm.h"
#include "calib/host/kernels.h"
#include "calib/protocol/measure.h"

using namespace tessella::calib;

namespace {

// Small and awkward: nothing is a multiple of a vector or a tile.
OpShape small_shape(const std::string& op, const std::string& kernel) {
  OpShape s{op, kernel, "", {}, 1};
  if (op.starts_with("gemm")) s.dims = {{"m", 33}, {"n", 19}, {"k", 27}};
  if (op.starts_with("grouped")) s.dims = {{"experts", 3}, {"tokens", 151}, {"skew", 40}, {"in", 21}, {"out", 17}};
  if (op.starts_with("attention"))
    s.dims = {{"batch", 1}, {"seq", 29}, {"heads", 4}, {"kv_heads", 2}, {"qk_dim", 6}, {"v_dim", 6}};
  if (op.starts_with("norm") || op.starts_with("activation")) s.dims = {{"rows", 13}, {"cols", 37}};
  if (op == "copy") s.dims = {{"rows", 26}, {"cols", 24}, {"dim", 8}, {"seq", 13}};
  if (op == "permute" || op == "unpermute")
    s.dims = {{"tokens", 23}, {"topk", 3}, {"experts", 7}, {"cols", 11}, {"rows", 70}};
  if (op == "router") s.dims = {{"tokens", 31}, {"topk", 2}, {"experts", 9}};
  if (op == "embedding") s.dims = {{"rows", 40}, {"cols", 12}, {"vocab", 9}};
  if (op == "cross_entropy") s.dims = {{"rows", 17}, {"vocab", 50}};
  if (op == "optimizer") s.dims = {{"params", 999}};
  return s;
}

// A block of zeros for HostComm.
class Block {
 public:
  Block(int ranks, std::int64_t capacity) : bytes_(comm_block_bytes(ranks, capacity)) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes_)));
    std::memset(memory_.get(), 0, bytes_);
  }
  void* get() { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

} // namespace

TEST_CASE("Every host kernel computes what its definition says") {
  for (const auto& [op, kernel] : host_ops()) {
    const OpShape shape = small_shape(op, kernel);
    const std::unique_ptr<OpCase> bench = host_case(shape);
    bench->prepare(2);
    bench->launch(0);
    CHECK_MESSAGE(bench->verify() < error_limit(""), shape.text());
    CHECK_MESSAGE(bench->work().bytes > 0.0, shape.text());
    CHECK_MESSAGE(bench->work().footprint > 0, shape.text());
  }
}

TEST_CASE("A kernel that was not run fails its own check") {
  for (const auto& known : host_ops()) {
    const auto& op = known.first; // a message captures them, which a structured binding does not allow
    const auto& kernel = known.second;
    if (op == "router" && kernel == "topk") continue; // has nothing to compare before it ran
    const std::unique_ptr<OpCase> bench = host_case(small_shape(op, kernel));
    bench->prepare(1);
    CHECK_MESSAGE(!(bench->verify() < error_limit("")), op, " ", kernel);
  }
  CHECK_THROWS_AS(host_case({"conv", "", "", {}, 1}), std::invalid_argument);
}

TEST_CASE("Forced routing takes the given experts and keeps the rows sorted by expert") {
  Tensor logits(4, 3);
  for (std::int64_t i = 0; i < 4; ++i) logits.at(i, 0) = 5.0F; // everybody likes expert 0
  const std::vector<std::int32_t> forced = {2, 1, 1, 2, 0, 2, 2, 0};
  Routing r;
  route(logits, 2, forced, r);
  CHECK(r.tokens == std::vector<std::int64_t>{2, 2, 4});
  CHECK(r.source == std::vector<std::int32_t>{4, 7, 1, 2, 0, 3, 5, 6});
  CHECK(r.weights[0] == doctest::Approx(0.5));
  CHECK(r.weights[4] == doctest::Approx(1.0 / (1.0 + std::exp(-5.0))));
  route(logits, 1, {}, r);
  CHECK(r.tokens == std::vector<std::int64_t>{4, 0, 0});
}

TEST_CASE("Experts are padded to whole tiles") {
  const std::vector<std::int64_t> tokens = {1, 0, 64, 65};
  CHECK(padded_offsets(tokens) == std::vector<std::int64_t>{0, 64, 64, 128, 256});
}

TEST_CASE("The protocol measures a host kernel") {
  HostTimer timer;
  SchedulerClock clocks;
  const Backend backend{&timer, &clocks, 1 << 20, std::size_t{64} << 20};
  const OpShape shape{"gemm", "", "", {{"m", 64}, {"n", 64}, {"k", 64}}, 1};
  MeasureOptions options;
  options.throttled_share = 1.0; // a busy machine may preempt
  options.stop.max_samples = 50;
  const auto bench = host_case(shape);
  const auto all = measure(*bench, shape, backend, options);
  REQUIRE(all.size() == 2);
  for (const Measurement& m : all) {
    CHECK(m.summary.median > 1e-6);
    CHECK(m.summary.median < 1e-2);
    CHECK(m.error < 1e-4);
  }
}

TEST_CASE("Collectives between threads give what nccl-tests define") {
  constexpr int kRanks = 3;
  Block block(kRanks, 64);
  StopFlag stop = false;
  std::vector<std::string> failures(kRanks);
  run_ranks(kRanks, stop, [&](int rank) {
    HostComm comm(block.get(), rank, kRanks, 64, stop);
    const auto expect = [&](bool ok, const char* what) {
      if (!ok) failures[static_cast<std::size_t>(rank)] += what;
    };
    for (int round = 0; round < 200; ++round) {
      const auto base = static_cast<float>(round);
      // Rank r sends r + d + 1 floats to rank d, each saying who sent it to whom.
      std::vector<std::int64_t> counts;
      std::vector<float> in;
      for (int d = 0; d < kRanks; ++d) {
        counts.push_back(rank + d + 1);
        in.insert(in.end(), static_cast<std::size_t>(rank + d + 1), base + static_cast<float>(10 * rank + d));
      }
      std::vector<float> out(64);
      std::vector<std::int64_t> got(kRanks);
      const ExchangeTimes t = comm.all_to_all(in, counts, out, got);
      expect(t.begin <= t.last_arrival && t.last_arrival <= t.end, "times ");
      std::size_t at = 0;
      for (int s = 0; s < kRanks; ++s) {
        expect(got[static_cast<std::size_t>(s)] == rank + s + 1, "counts ");
        for (std::int64_t i = 0; i < got[static_cast<std::size_t>(s)]; ++i)
          expect(out[at++] == base + static_cast<float>(10 * s + rank), "all_to_all ");
      }
      std::vector<float> sum = {base, static_cast<float>(rank)};
      comm.all_reduce(sum);
      expect(sum[0] == 3.0F * base && sum[1] == 3.0F, "all_reduce ");
      const std::vector<float> one = {base + static_cast<float>(rank)};
      std::vector<float> all(kRanks);
      comm.all_gather(one, all);
      expect(all[0] == base && all[1] == base + 1.0F && all[2] == base + 2.0F, "all_gather ");
      std::vector<float> part(1);
      comm.reduce_scatter(all, part);
      expect(part[0] == 3.0F * (base + static_cast<float>(rank)), "reduce_scatter ");
      comm.barrier();
    }
  });
  for (const std::string& failure : failures) CHECK(failure == "");
}

TEST_CASE("When a rank fails, the others stop waiting for it and its error is the one that is told") {
  Block block(2, 8);
  StopFlag stop = false;
  CHECK_THROWS_WITH_AS(run_ranks(2, stop,
                                 [&](int rank) {
                                   HostComm comm(block.get(), rank, 2, 8, stop);
                                   comm.barrier();
                                   if (rank == 1) throw std::runtime_error("rank 1: out of luck");
                                   comm.barrier();
                                 }),
                       "rank 1: out of luck", std::runtime_error);
}
