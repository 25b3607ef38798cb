// tessella sweep and tessella merge, as a user runs them.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "sim/base/rng.h"
#include "sim/store/results_db.h"
#include "tests/support/process.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

const char* const kExperiment = R"(experiment: small
model: toy
cluster: {topology: h100_node_8, profile: h100_sxm/2026-11-29-published}
parallelism: {pp: 2, ep: 4}
batch: {mbs: 1, gbs: 16, seq: 512}
routing: {kind: generator}
)";

std::string sweep_file(const TempFolder& folder, int seeds) {
  folder.write("small.yaml", kExperiment);
  return folder.write("sweep.yaml", "sweep: small\nexperiment: small.yaml\ngrid:\n  parallelism.pp: [1, 2, 3]\n"
                                    "  parallelism.ep: [1, 4]\n  simulation.seed: {from: 1, to: " +
                                        std::to_string(seeds) + "}\n");
}

std::vector<ResultRow> rows_of(const std::string& file) {
  return ResultsDb(file, DbMode::read).rows();
}

} // namespace

TEST_CASE("Every point becomes a row; illegal ones with their reason") {
  const TempFolder folder;
  const Ran ran = run_command({"sweep", sweep_file(folder, 2), "--db", folder / "a.db", "--csv", folder / "a.csv"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto rows = rows_of(folder / "a.db");
  REQUIRE(rows.size() == 12);
  int illegal = 0;
  for (const ResultRow& row : rows) {
    const bool three = row.overrides.find("pp=3") != std::string::npos;
    CHECK(row.status == (three ? "illegal" : "ok"));
    CHECK(row.reason.empty() != three);
    CHECK(row.numbers[0].has_value() != three);
    illegal += three ? 1 : 0;
  }
  CHECK(illegal == 4);
  const std::string csv = read_text_file(folder / "a.csv");
  CHECK(csv.starts_with("key,status,reason,parallelism.pp,parallelism.ep,simulation.seed,step_time_s"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
}

TEST_CASE("A row equals the run of the same experiment") {
  const TempFolder folder;
  const std::string sweep = sweep_file(folder, 1);
  REQUIRE(run_command({"sweep", sweep, "--db", folder / "a.db"}).code == 0);
  const Ran run = run_command({"run", folder / "small.yaml", "--set", "parallelism.pp=2", "--set", "parallelism.ep=4",
                               "--seed", "1", "--json", "-"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const ResultRow& row : rows_of(folder / "a.db")) {
    if (row.overrides.find("pp=2\nparallelism.ep=4") == std::string::npos) continue;
    CHECK(run.out.find(fmt::format("\"step_time_s\": {},", *row.numbers[0])) != std::string::npos);
    CHECK(run.out.find(fmt::format("\"mfu\": {},", *row.numbers[5])) != std::string::npos);
    return;
  }
  FAIL("no such row");
}

TEST_CASE("Killed ten times at random and resumed: the same database as an undisturbed run") {
  const TempFolder folder;
  const std::string sweep = sweep_file(folder, 150);
  REQUIRE(run_command({"sweep", sweep, "--db", folder / "whole.db", "--threads", "1"}).code == 0);
  const auto whole = rows_of(folder / "whole.db");
  REQUIRE(whole.size() == 900);
  const Stream draws(1, Purpose::test);
  int killed = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const pid_t child =
        start_command({"sweep", sweep, "--db", folder / "killed.db", "--threads", "2"}, folder / "out", folder / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(5.0 + 120.0 * draws.uniform(i))));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
  }
  MESSAGE("killed " << killed << " times before the end");
  const Ran last = run_command({"sweep", sweep, "--db", folder / "killed.db", "--threads", "2"});
  CHECK_MESSAGE(last.code == 0, last.err);
  CHECK(rows_of(folder / "killed.db") == whole);
}

TEST_CASE("Shards put together are the whole, and merging twice changes nothing") {
  const TempFolder folder;
  const std::string sweep = sweep_file(folder, 5);
  REQUIRE(run_command({"sweep", sweep, "--db", folder / "whole.db"}).code == 0);
  for (const char* shard : {"0/3", "1/3", "2/3"})
    REQUIRE(run_command({"sweep", sweep, "--shard", shard, "--db", folder / (std::string("s") + shard[0])}).code == 0);
  const std::vector<std::string> merge = {"merge", folder / "out.db", folder / "s0", folder / "s1", folder / "s2"};
  CHECK(run_command(merge).code == 0);
  CHECK(rows_of(folder / "out.db") == rows_of(folder / "whole.db"));
  const Ran again = run_command(merge);
  CHECK(again.code == 0);
  CHECK(again.out.find("10 added") == std::string::npos);
  CHECK(rows_of(folder / "out.db") == rows_of(folder / "whole.db"));

  setenv("SLURM_ARRAY_TASK_ID", "7", 1); // --array=3-9:2
  setenv("SLURM_ARRAY_TASK_MIN", "3", 1);
  setenv("SLURM_ARRAY_TASK_STEP", "2", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "4", 1);
  const Ran slurm = run_command({"sweep", sweep, "--db", folder / "slurm.db"});
  for (const char* name : {"ID", "MIN", "STEP", "COUNT"}) unsetenv((std::string("SLURM_ARRAY_TASK_") + name).c_str());
  CHECK(slurm.err.find("shard 2 of 4 (from SLURM_ARRAY_TASK_ID)") != std::string::npos);
  setenv("JOB_COMPLETION_INDEX", "1", 1);
  const Ran unknown = run_command({"sweep", sweep, "--db", folder / "pod.db"});
  const Ran pod = run_command({"sweep", sweep, "--db", folder / "pod.db", "--shards", "6"});
  unsetenv("JOB_COMPLETION_INDEX");
  CHECK(unknown.code == 2);
  CHECK(pod.err.find("shard 1 of 6 (from JOB_COMPLETION_INDEX)") != std::string::npos);
  CHECK(rows_of(folder / "pod.db").size() == 5);
}

TEST_CASE("A sweep selects rows with --where, and says what is wrong with it") {
  const TempFolder folder;
  const std::string sweep = sweep_file(folder, 2);
  const Ran ran =
      run_command({"sweep", sweep, "--db", folder / "a.db", "--where", "status == 'ok' and pp > 1", "--csv", "-"});
  CHECK(ran.code == 0);
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 5);
  const Ran name = run_command({"sweep", sweep, "--db", folder / "a.db", "--where", "mfoo > 1"});
  CHECK(name.code == 2);
  CHECK(name.err.find("'mfoo' is neither a column of the results nor a swept path") != std::string::npos);
  CHECK(run_command({"sweep", sweep, "--db", folder / "a.db", "--where", "mfu >"}).code == 2);
  const Ran shard = run_command({"sweep", sweep, "--db", folder / "a.db", "--shard", "3/3"});
  CHECK(shard.code == 2);
  CHECK(shard.err.find("there is no shard 3 of 3") != std::string::npos);
}

TEST_CASE("A full disk is reported, and what was committed stays") {
  const TempFolder folder;
  const std::string sweep = sweep_file(folder, 100);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit fails, as on a full disk
  const rlimit small{200'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Ran ran = run_command({"sweep", sweep, "--db", folder / "a.db"});
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(ran.code == 2);
  CHECK_MESSAGE(ran.err.find("run again, it resumes") != std::string::npos, ran.err);
  CHECK(run_command({"sweep", sweep, "--db", folder / "a.db"}).code == 0);
  CHECK(rows_of(folder / "a.db").size() == 600);
}

TEST_CASE("A sweep draws scaling and time against memory, where gnuplot is installed") {
  const TempFolder folder;
  folder.write("small.yaml", kExperiment);
  const std::string sweep =
      folder.write("s.yaml", "sweep: it's\nexperiment: small.yaml\ngrid:\n  parallelism.pp: [1, 2]\n"
                             "  batch.gbs: [16, 32, 64]\n");
  CHECK(run_command({"sweep", sweep, "--db", folder / "bad.db"}).code == 2); // a quote in a name
  folder.write("s.yaml", "sweep: small\nexperiment: small.yaml\ngrid:\n  parallelism.pp: [1, 2]\n"
                         "  batch.gbs: [16, 32, 64]\n");
  const Ran ran = run_command({"sweep", sweep, "--db", folder / "a.db", "--plot", folder / "p"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  if (ran.err.find("gnuplot is not installed") != std::string::npos) {
    MESSAGE("skipped: no gnuplot");
    return;
  }
  CHECK(read_text_file(folder / "p.scaling.svg").find("small: scaling") != std::string::npos);
  CHECK(read_text_file(folder / "p.pareto.svg").find("GPU-seconds per million tokens") != std::string::npos);
  const Ran nowhere = run_command({"sweep", sweep, "--db", folder / "a.db", "--plot", folder / "no/where"});
  CHECK(nowhere.code == 2);
  const Ran none = run_command({"sweep", sweep, "--db", folder / "a.db", "--plot", folder / "n", "--where", "mfu > 1"});
  CHECK(none.code == 0);
  CHECK(none.err.find("no plots") != std::string::npos);
}
