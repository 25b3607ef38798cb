// The command line as users and CI see it: exit codes, where output goes, equal bytes for equal runs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

using nlohmann::json;
using tessella::testing::CommandResult;
namespace fs = std::filesystem;

namespace {

const std::string kOne = "experiments/01_qwen3_235b_h100_256/experiment.yaml";
const std::string kTwo = "experiments/02_qwen3_next_12288/experiment.yaml";
const std::string kScale = "experiments/02_qwen3_next_12288/scale.yaml";

CommandResult run(const std::string& arguments) {
  return tessella::testing::tessella(arguments);
}

json result(const std::string& arguments) {
  const CommandResult r = run("run " + arguments + " --json -");
  REQUIRE_MESSAGE(!r.out.empty(), r.err);
  return json::parse(r.out);
}

// All of a result but what differs between two identical runs.
json answer(const std::string& arguments) {
  json j = result(arguments);
  j.erase("sim");
  return j;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("run prints the answer on standard output, the rest on standard error, and exits 0") {
  const CommandResult r = run("run " + kOne);
  CHECK(r.exit_code == 0);
  CHECK(contains(r.out, "step time"));
  CHECK(contains(r.out, "MFU"));
  CHECK(contains(r.out, "exposed communication"));
  CHECK(contains(r.err, "rank-ops"));
  CHECK_FALSE(contains(r.out, "rank-ops"));
}

TEST_CASE("--json - writes nothing else to standard output") {
  const CommandResult r = run("run " + kOne + " --json -");
  CHECK(r.exit_code == 0);
  CHECK(json::parse(r.out).contains("step_time_s"));
}

TEST_CASE("Equal runs give equal bytes, for any number of threads and with or without folding") {
  const std::string steps = " --steps 2 --set simulation.seed=9";
  const json one = answer(kTwo + steps + " --threads 1");
  CHECK(one == answer(kTwo + steps + " --threads 2"));
  CHECK(one == answer(kTwo + steps + " --threads 1"));
  CHECK(one != answer(kTwo + " --steps 2 --seed 10"));
}

TEST_CASE("The whole 12,288-GPU step, op by op, stays small and every rank-op is counted") {
  const CommandResult r = run("run " + kScale + " --threads 1 --json -");
  CHECK(r.exit_code == 3); // the yardstick's plan does not fit, and the run says so
  const json j = json::parse(r.out);
  CHECK(j["sim"]["rank_ops"].get<double>() >= 1e8);
  CHECK(j["sim"]["peak_rss_bytes"].get<double>() < 1e9);
}

TEST_CASE("Memory is flat when micro-batches double, work doubles with micro-batches and replicas") {
  const json base = result(kScale + " --threads 1")["sim"];
  const json more = result(kScale + " --threads 1 --set batch.gbs=196608")["sim"];
  CHECK(more["peak_rss_bytes"].get<double>() < 1.2 * base["peak_rss_bytes"].get<double>());
  CHECK(more["rank_ops"].get<double>() == 2.0 * base["rank_ops"].get<double>());
}

TEST_CASE("Wrong input exits 2 with file, line, caret and the nearest right thing") {
  const CommandResult r = run("run " + kOne + " --set parallelism.expert_model_parallel_size=48");
  CHECK(r.exit_code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, "error:"));
  const CommandResult typo = run("run experiments/01_qwen3_235b_h100_256/experimnt.yaml");
  CHECK(typo.exit_code == 2);
  CHECK(contains(typo.err, "experimnt.yaml"));
  CHECK(run("run " + kOne + " --schedule 1f1v").exit_code == 2);
  CHECK(run("frobnicate").exit_code == 2);
  CHECK(run("run").exit_code == 2);
  CHECK(run("--help").exit_code == 0);
}

TEST_CASE("Planning what cannot fit ends soon, and says which stage holds most and what would fit") {
  const CommandResult r = run("plan " + kOne + " --set parallelism.ep=4");
  CHECK(r.exit_code == 3);
  CHECK(contains(r.err, "most of it is stage "));
  CHECK(contains(r.err, "--set parallelism.tp=4"));
}

TEST_CASE("A plan that does not fit exits 3, with the parts and the smallest world that fits") {
  const CommandResult r =
      run("memory " + kOne + " --set 'recompute={granularity: none}' --set batch.micro_batch_size=4");
  CHECK(r.exit_code == 3);
  CHECK(contains(r.out, "DOES NOT FIT"));
  CHECK(run("check " + kOne).exit_code == 0);
}

TEST_CASE("Output files appear whole") {
  char folder[] = "/tmp/tessella-cli-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string base = folder;
  const CommandResult r = run("run " + kOne + " --json " + base + "/r.json --trace " + base + "/t.json --csv " + base +
                              "/ledger --timeline");
  CHECK(r.exit_code == 0);
  std::ifstream trace(base + "/t.json");
  const json t = json::parse(trace);
  CHECK(t["traceEvents"].size() > 1000);
  CHECK(fs::file_size(base + "/ledger.ranks.csv") > 256 * 20);
  CHECK(contains(r.out, "rank"));
  const CommandResult nowhere = run("run " + kOne + " --json " + base + "/no/such/folder/r.json");
  CHECK(nowhere.exit_code == 2);
  for (const auto& entry : fs::directory_iterator(base)) CHECK_FALSE(contains(entry.path().string(), "tmp."));
  fs::remove_all(base);
}

TEST_CASE("A full disk behind standard output is said, and is no success") {
  for (const std::string command : {"list schedules", "schedule 1f1b --csv -"}) {
    const CommandResult r = run(command + " >/dev/full 2>/dev/null; echo $?");
    CHECK_MESSAGE(r.out == "2\n", command);
  }
}

TEST_CASE("list shows what can be named") {
  CHECK(contains(run("list models").out, "qwen3_235b_a22b"));
  CHECK(contains(run("list topologies").out, "hopper_rail_12288"));
  CHECK(contains(run("list profiles").out, "h100_sxm"));
  CHECK(contains(run("list schedules").out, "zb_h1"));
  CHECK(run("list colours").exit_code == 2);
}

// Case 29: what an unbalanced router costs.
TEST_CASE("Unequal loads cost time and memory, equal loads cost nothing") {
  const std::string small = kOne + " --set parallelism.ep=8 --set parallelism.pp=1 --set parallelism.vpp=1 "
                                   "--set parallelism.account_for_embedding_in_pipeline_split=false "
                                   "--set parallelism.account_for_loss_in_pipeline_split=false "
                                   "--set model=qwen3_30b_a3b --set schedule.name=1f1b";
  const auto with = [&](const std::string& loads) {
    return answer(small + " --set 'routing.kind=loads' --set 'routing.loads=" + loads + "'");
  };
  const json balanced = answer(small);
  const double step = balanced["step_time_s"];
  CHECK(with("[1,1,1,1,1,1,1,1]")["step_time_s"] == step);
  const json mild = with("[2,1,1,1,1,1,1,1]");
  const json hot = with("[4,1,1,1,1,1,1,1]");
  CHECK(mild["step_time_s"].get<double>() > step);
  CHECK(hot["step_time_s"].get<double>() > mild["step_time_s"].get<double>());
  CHECK(hot["memory"]["peak_bytes"].get<double>() >= balanced["memory"]["peak_bytes"].get<double>());
}

// Case 29, second check: the penalty of natural routing shrinks as attention grows with the sequence.
TEST_CASE("The price of natural routing falls with the sequence length") {
  double before = 10.0;
  for (const int seq : {16384, 65536}) {
    const std::string length = kOne +
                               " --set parallelism.tp=4 --set parallelism.ep=8 --set batch.gbs=256 --set "
                               "batch.seq_length=" +
                               std::to_string(seq) + " --set parallelism.cp=" + std::to_string(seq / 16384);
    const double forced = answer(length)["step_time_s"];
    const double natural = answer(length + " --set routing.kind=generator")["step_time_s"];
    CHECK(natural > forced);
    CHECK(natural / forced < before);
    before = natural / forced;
  }
}

// Case 30: the budget of a very large job.
TEST_CASE("12,288 ranks, TP 8, PP 16, 96 micro-batches in interactive time") {
  const json j = result(kTwo + " --set parallelism.tp=8 --set parallelism.ep=64 --set batch.gbs=9216");
  CHECK(j["ranks"] == 12288);
  CHECK(j["sim"]["wall_s"].get<double>() < 60.0);
  CHECK(j["sim"]["peak_rss_bytes"].get<double>() < 8.0 * 1073741824.0);
}

// Case 24: a slower network never makes a step faster.
TEST_CASE("Slower NICs never make a step faster") {
  double before = 0.0;
  for (const char* nic : {"50 GB/s", "25 GB/s", "5 GB/s"}) {
    const json j = answer(kOne + " --set 'topology.node.nic.bandwidth=" + std::string(nic) + "'");
    const double step = j["step_time_s"];
    CHECK(step >= before);
    before = step;
  }
}
