// The group arrays against the rank-by-rank reference: random small programs with uneven loads, several sync widths,
// overlapped pairs and contention must agree to the picosecond, in every clock and in every share of the ledger.
#include <doctest/doctest.h>

#include "sim/exec/replica.h"
#include "tests/support/random_program.h"
#include "tests/support/reference_sim.h"

using namespace tessella;
using testing::HashedLoads;
using testing::RandomProgram;

TEST_CASE("Group arrays equal the rank-by-rank reference to the picosecond") {
  std::int64_t overlapped = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const RandomProgram random(seed);
    const HashedLoads loads(seed);
    for (std::int32_t r = 0; r < random.program.replicas; ++r) {
      Replica replica(random.program, &loads);
      replica.run(0, r, 1, nullptr, {});
      const auto expected = testing::simulate_rank_by_rank(random.program, &loads, 0, r);
      for (std::size_t g = 0; g < expected.size(); ++g)
        for (std::size_t i = 0; i < expected[g].size(); ++i) {
          const Group& group = replica.groups()[g];
          REQUIRE(group.clock[i].ps == expected[g][i].end.ps);
          for (int s = 0; s < kNumShares; ++s) {
            CAPTURE(name(static_cast<Share>(s)));
            REQUIRE(group.row(i).share[static_cast<std::size_t>(s)].ps ==
                    expected[g][i].row.share[static_cast<std::size_t>(s)].ps);
          }
          overlapped += group.row(i)[Share::overlapped].ps;
        }
    }
  }
  CHECK(overlapped > 0); // the comparison did exercise contention
}

TEST_CASE("A replica forgets the run before") {
  const RandomProgram random(7);
  const HashedLoads loads(7);
  Replica fresh(random.program, &loads);
  fresh.run(3, 0, 1, nullptr, {});
  Replica used(random.program, &loads);
  used.run(0, 0, 1, nullptr, {});
  used.run(3, 0, 1, nullptr, {});
  for (std::size_t g = 0; g < fresh.groups().size(); ++g)
    for (std::size_t r = 0; r < fresh.groups()[g].clock.size(); ++r)
      CHECK(fresh.groups()[g].row(r) == used.groups()[g].row(r));
}
