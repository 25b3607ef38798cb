// Laws of the bubble filler on random programs: off changes nothing, books close, caps hold, nothing is lost, exact
// knowledge never delays, and a policy cannot see what a rank cannot know.
#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>

#include "sim/exec/fill_plan.h"
#include "sim/exec/replica.h"
#include "sim/exec/run.h"
#include "tests/support/even_loads.h"
#include "tests/support/random_program.h"

using namespace tessella;
using testing::HashedLoads;
using testing::RandomProgram;

namespace {

FillerOptions options(const char* policy, std::int64_t pool = 8, Duration cost = {0}) {
  FillerOptions o;
  o.policy = find_fill_policy(policy);
  REQUIRE(o.policy != nullptr);
  o.pool = pool;
  o.decision_cost = cost;
  return o;
}

RunRecords run(const Program& program, std::uint64_t seed, const FillerOptions& filler, unsigned threads = 1,
               std::int64_t steps = 2) {
  HashedLoads loads(seed);
  RunOptions o;
  o.steps = steps;
  o.seed = seed;
  o.threads = threads;
  o.filler = filler;
  return run_program(program, &loads, false, o);
}

bool same(const RunRecords& a, const RunRecords& b) {
  for (std::size_t s = 0; s < a.steps.size(); ++s)
    if (a.steps[s].makespan != b.steps[s].makespan || !(a.steps[s].ledger_sum == b.steps[s].ledger_sum)) return false;
  return a.rank_rows == b.rank_rows && a.sums.fill == b.sums.fill;
}

// All contention away, so that work is the same wherever it runs.
Program without_contention(Program p) {
  for (Template& t : p.templates)
    for (Op& op : t.ops) op.beside_waiting = op.beside_moving = Pace{};
  for (std::vector<AheadWork>& stage : p.ahead)
    for (AheadWork& w : stage) w.beside_waiting = w.beside_moving = Pace{};
  return p;
}

Duration work(const LedgerRow& row) {
  return row[Share::compute] + row[Share::overlapped];
}

} // namespace

TEST_CASE("Policy none is the static plan, bit by bit") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomProgram random(seed);
    const RunRecords none = run(random.program, seed, options("none"));
    CHECK(same(none, run(random.program, seed, FillerOptions{})));
    CHECK(none.sums.fill == FillSums{});
    // Deciding without deferring changes nothing but the cost of deciding.
    CHECK(same(none, run(random.program, seed, options("always_keep"))));
  }
}

TEST_CASE("Every policy: books close, caps hold, all deferred work is done") {
  std::int64_t fills = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Program program = without_contention(RandomProgram(seed).program);
    const Duration planned = work(run(program, seed, options("none")).steps[1].ledger_sum);
    for (const FillPolicy& policy : fill_policy_table()) {
      CAPTURE(policy.name);
      FillerOptions o = options("none", 3, {7});
      o.policy = &policy;
      // run_program checks that every rank's row adds up to the makespan, to the picosecond.
      const RunRecords r = run(program, seed, o);
      CHECK(work(r.steps[1].ledger_sum) == planned);
      CHECK(r.sums.fill.pool_peak <= 3);
      CHECK(r.sums.fill.forced <= r.sums.fill.deferred);
      fills += r.sums.fill.fills;
    }
  }
  CHECK(fills > 0);
}

TEST_CASE("A pool of bytes: memory headroom is never exceeded") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Program program = RandomProgram(seed).program;
    program.held_bytes.assign(static_cast<std::size_t>(program.schedule.num_stages), 10);
    FillerOptions o = options("greedy");
    o.headroom_bytes.assign(program.positions.size(), 25);
    const RunRecords r = run(program, seed, o);
    CHECK(r.sums.fill.pool_peak_bytes <= 25);
    o.headroom_bytes.assign(program.positions.size(), 9);
    CHECK(run(program, seed, o).sums.fill.deferred == 0);
  }
}

TEST_CASE("Results do not depend on threads, and jitter draws stay those of the plan") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Program program = RandomProgram(seed).program;
    program.kernel_jitter = 0.05;
    for (const char* policy : {"greedy", "history", "look_ahead", "clairvoyant"})
      CHECK(same(run(program, seed, options(policy), 1, 3), run(program, seed, options(policy), 4, 3)));
    const Program calm = without_contention(program);
    CHECK(work(run(calm, seed, options("greedy")).steps[0].ledger_sum) ==
          work(run(calm, seed, options("none")).steps[0].ledger_sum));
  }
}

TEST_CASE("Fills that know the real waits never delay the backbone") {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    CHECK(run(RandomProgram(seed).program, seed, options("clairvoyant")).sums.fill.overrun == Duration{0});
}

TEST_CASE("With exact durations the estimates of a chain are the real waits, so greedy fills never delay") {
  std::int64_t fills = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    // One position: no messages, whose waits no rank can know exactly. Chains only: no exchange of another
    // micro-batch depends on what the others deferred.
    const Program program = RandomProgram(seed).program;
    if (program.num_positions() > 1) continue;
    const RunRecords r = run(program, seed, options("greedy"));
    CHECK(r.sums.fill.overrun == Duration{0});
    fills += r.sums.fill.fills;
  }
  CHECK(fills > 0);
}

namespace {

RunRecords run_even(const Program& program, const FillerOptions& filler) {
  EvenLoads loads(400);
  RunOptions o;
  o.filler = filler;
  return run_program(program, &loads, false, o);
}

// Reductions of chunks, long enough to matter where they start late.
Program with_reductions(Program p) {
  p.overlap_grad_reduce = true;
  for (Position& position : p.positions)
    for (std::size_t c = 0; c < position.chunks.size(); ++c) {
      position.chunks[c].dense_reduce = {3000 + 500 * static_cast<std::int64_t>(c)};
      position.chunks[c].expert_reduce = {2000};
    }
  return p;
}

// A hash in pieces of 60, and state from the host in pieces of 90 that hold 5 bytes each.
Program with_spare_work(Program p) {
  for (Position& position : p.positions) {
    SpareWork hash;
    hash.pieces = 20;
    hash.piece = {60};
    hash.beside_waiting = hash.beside_moving = Pace::slowed_by(1.4);
    SpareWork fetch;
    fetch.pieces = 10;
    fetch.piece = {90};
    fetch.bytes = 5;
    fetch.copies = true;
    position.spare = {hash, fetch};
  }
  return p;
}

constexpr std::int64_t kSpare = 20 * 60 + 10 * 90;

} // namespace

// Gradients left for the end would hold up the reduction of their chunk.
TEST_CASE("With durations as predicted, a greedy step is never later than the static one, reductions included") {
  std::int64_t earlier = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Program program = with_reductions(without_contention(RandomProgram(seed).program));
    const RunRecords planned = run_even(program, options("none"));
    const RunRecords filled = run_even(program, options("greedy"));
    if (filled.sums.fill.overrun > Duration{0}) continue; // a message came when the plan did not say so
    CHECK(filled.steps[0].makespan <= planned.steps[0].makespan);
    earlier += filled.steps[0].makespan < planned.steps[0].makespan ? 1 : 0;
  }
  CHECK(earlier > 10);
}

TEST_CASE("Spare work: at the end of the step without a filler, in idle time with one, and never lost") {
  std::int64_t early = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Program plain = without_contention(RandomProgram(seed).program);
    Program program = with_spare_work(plain);
    for (Position& p : program.positions) p.spare[0].beside_waiting = p.spare[0].beside_moving = Pace{};
    const std::int64_t ranks = static_cast<std::int64_t>(plain.positions.size()) * plain.group_size * plain.replicas;
    for (const char* policy : {"none", "always_keep"}) {
      const RunRecords r = run(program, seed, options(policy));
      CHECK(r.steps[0].makespan == run(plain, seed, options("none")).steps[0].makespan + Duration{kSpare});
      CHECK(r.steps[0].ledger_sum[Share::optimizer].ps == ranks * kSpare);
    }
    for (const char* policy : {"greedy", "look_ahead", "clairvoyant"}) {
      const RunRecords r = run(program, seed, options(policy), 1, 1);
      // What ran early and what ran at the end is all of it.
      CHECK(r.steps[0].ledger_sum[Share::optimizer] + r.sums.fill.early == Duration{ranks * kSpare});
      early += r.sums.fill.early.ps;
      CHECK(same(r, run(program, seed, options(policy), 3, 1)));
    }
  }
  CHECK(early > 0);
}

TEST_CASE("State from the host is held in memory until the optimizer, within the headroom") {
  std::int64_t early = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Program program = with_spare_work(RandomProgram(seed).program);
    for (Position& p : program.positions) p.spare.erase(p.spare.begin());
    FillerOptions o = options("greedy");
    o.headroom_bytes.assign(program.positions.size(), 14);
    const RunRecords r = run(program, seed, o, 1, 1);
    CHECK(r.sums.fill.pool_peak_bytes <= 14); // two pieces of 5
    early += r.sums.fill.early.ps;
    o.headroom_bytes.assign(program.positions.size(), 4);
    CHECK(run(program, seed, o, 1, 1).sums.fill.early == Duration{0});
    // The pool comes first: room for three tasks of 10 is not given to copies.
    program.held_bytes.assign(static_cast<std::size_t>(program.schedule.num_stages), 10);
    o.pool = 3;
    o.headroom_bytes.assign(program.positions.size(), 34);
    CHECK(run(program, seed, o, 1, 1).sums.fill.early == Duration{0});
  }
  CHECK(early > 0);
}

TEST_CASE("Recomputation ahead: the same work, earlier; activations are held within the headroom") {
  std::int64_t early = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Program program = without_contention(RandomProgram(seed, true).program);
    const Duration planned = work(run(program, seed, options("none")).steps[1].ledger_sum);
    for (const char* policy : {"greedy", "look_ahead", "clairvoyant"}) {
      FillerOptions o = options(policy);
      const RunRecords r = run(program, seed, o);
      CHECK(work(r.steps[1].ledger_sum) == planned);
      CHECK(same(r, run(program, seed, o, 3)));
      early += r.sums.fill.early.ps;
      o.headroom_bytes.assign(program.positions.size(), 15);
      CHECK(run(program, seed, o).sums.fill.pool_peak_bytes <= 14); // two of 7
    }
    CHECK(run(program, seed, options("clairvoyant")).sums.fill.overrun == Duration{0});
    CHECK(run(program, seed, options("none")).sums.fill == FillSums{});
  }
  CHECK(early > 0);
}

TEST_CASE("Weight gradients may stay while other work moves") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FillerOptions o = options("greedy");
    o.defers_wgrad = false;
    const RunRecords r = run(with_spare_work(RandomProgram(seed).program), seed, o);
    CHECK(r.sums.fill.deferred == 0);
  }
}

// What a policy may see is its argument's type: only these members, all of them values or views of the rank's own
// state. Real arrivals live in ActualWait, which only a KnowingPick receives, and every row of that kind says so.
TEST_CASE("A policy cannot peek") {
  static_assert(std::is_same_v<Pick, std::optional<std::size_t> (*)(const RankView&)>);
  static_assert(!std::is_convertible_v<KnowingPick, Pick>);
  [[maybe_unused]] const auto [now, pool, slot, tokens, self] =
      RankView{}; // a new member must be added here, and justified
  [[maybe_unused]] const auto [beside_exchange, estimate, average] = slot;
  // Nobody told: nothing to see.
  CHECK((pool.empty() && tokens.empty() && self == 0 && now == Time{}));
  CHECK((!beside_exchange && estimate == Duration{} && !average));
  for (const FillPolicy& p : fill_policy_table()) {
    CHECK_FALSE((p.pick && p.knowing));
    CHECK((p.knowing != nullptr) == (p.description.find("UPPER BOUND") != std::string_view::npos));
  }
}
