// Piper's formulas with small numbers that a pencil can check.
#include <doctest/doctest.h>

#include "sim/planner/search/piper.h"

using namespace tessella;

namespace {

// d 2, L 4, E 8, k 2, d_ffn 3, H 5, s 7, b 16
constexpr PiperModel kModel{2, 4, 8, 2, 3, 5, 7, 16};

} // namespace

TEST_CASE("Memory: unsharded, expert-parallel, and a pipeline stage") {
  const PiperCluster c;
  // Per layer 64*4 + 48*8*2*3 + 12*16*7*2 + 4*5*16*49 + 2*16*7*2*(9 + 2) = 256 + 2304 + 2688 + 15680 + 4928.
  CHECK(piper_memory(kModel, c, {1, 1, 1}, 0) == doctest::Approx(4.0 * 25856.0));
  // EP 4: experts' state and activations in quarters; attention's activations stay whole, as printed.
  CHECK(piper_memory(kModel, c, {1, 4, 1}, 0) == doctest::Approx(4.0 * (256 + 576 + 2688 + 15680 + 1232)));
  PiperCluster repaired = c;
  repaired.per_rank_tokens = true;
  repaired.flash_attention = true;
  CHECK(piper_memory(kModel, repaired, {1, 4, 1}, 0) == doctest::Approx(4.0 * (256 + 576 + 672 + 1232)));
  // PP 2, M 8: two layers a stage, 2 - i micro-batches of b / 8 in flight.
  const PiperPlan plan{2, 4, 8};
  CHECK(piper_memory(kModel, c, plan, 0) == doctest::Approx(2.0 * (832 + 2 * (2688 + 15680 + 1232) / 8.0)));
  // Stage 0 is the peak; the difference is (PP - 1) micro-batches.
  CHECK(piper_memory(kModel, c, plan, 0) - piper_memory(kModel, c, plan, 1) ==
        doctest::Approx(2.0 * (2688 + 15680 + 1232) / 8.0));
}

TEST_CASE("All-to-all: what one GPU sends and receives over its NIC, dispatch and combine") {
  PiperCluster c;
  c.nic_bytes_per_s = 1000.0;
  CHECK(piper_all_to_all(kModel, c, {1, 4, 1}) == doctest::Approx(4.0 * 16 * 7 * 2 * 2 / (4 * 1000.0)));
}

TEST_CASE("The five constraints, one after another") {
  PiperCluster c;
  c.nodes = 4;
  c.gpus_per_node = 4;
  c.nodes_in_single_hop = 1;
  c.capacity_bytes = 1e9;
  // 16 GPUs: (1,16) (2,8) (4,4) (8,2) (16,1). 16 does not divide 8 experts; PP 8 and 16 exceed 4 layers; EP 8
  // exceeds 4.
  PiperSearch found = piper_search(kModel, c, 8);
  CHECK(found.left == std::array<std::int64_t, 5>{5, 4, 2, 1, 1});
  REQUIRE(found.feasible.size() == 1);
  CHECK(found.feasible[0] == PiperPlan{4, 4, 8});
  c.capacity_bytes = piper_memory(kModel, c, {4, 4, 8}, 0) - 1.0;
  CHECK(piper_search(kModel, c, 8).left[4] == 0);
}
