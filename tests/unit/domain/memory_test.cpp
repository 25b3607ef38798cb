#include <doctest/doctest.h>

#include "sim/domain/memory.h"

using namespace tessella;

namespace {

MemoryReport report(bool fits) {
  MemoryReport r;
  const RankMemory small;
  const RankMemory big{Bytes{2'000'000'000},  Bytes{4'000'000'000}, Bytes{12'000'000'000},
                       Bytes{70'000'000'000}, Bytes{1'500'000'000}, 19.0};
  r.ranks = {small, big};
  r.peak_rank = 1;
  r.capacity = Bytes{80LL << 30};
  r.fits = fits;
  return r;
}

} // namespace

TEST_CASE("peak adds up") {
  CHECK(report(true).ranks[1].model_state().count == 18'000'000'000);
  CHECK(report(true).ranks[1].peak().count == 89'500'000'000);
}

TEST_CASE("the verdict lists components from the largest and says what would fit") {
  CHECK(verdict(report(true)) == "fits: pipeline rank 1 needs 89.5 GB of 85.9 GB (80 GiB): activations 70.0 GB (19 in "
                                 "flight), model state 18.0 GB "
                                 "(weights 2.0, gradients 4.0, optimizer 12.0), buffers 1.5 GB");
  MemoryReport r = report(false);
  CHECK(verdict(r).find("no world that was tried fits") != std::string::npos);
  r.smallest_world = 64;
  r.smallest_world_plan = "TP 8, PP 4, DP 2";
  const std::string text = verdict(r);
  CHECK(text.starts_with("does not fit: pipeline rank 1"));
  CHECK(text.ends_with("; smallest world that fits: 64 GPUs (TP 8, PP 4, DP 2); otherwise offload or recompute"));
}
