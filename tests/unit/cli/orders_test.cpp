// Orders from outside, as a user gives them: schedules as torch CSV, pair orders as a scheduler's name, a file or a
// plan.
#include <doctest/doctest.h>

#include <filesystem>
#include <fmt/format.h>

#include "tests/support/process.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr const char* kTemplate = "experiments/00_template/experiment.yaml";
constexpr const char* kFolder = "../shared/data/torch_csv/";

// The template with as many layers as stages.
std::vector<std::string> small(const char* command, int pp, int vpp, int m) {
  std::vector<std::string> arguments = {command, kTemplate};
  for (const std::string& text :
       {fmt::format("parallelism.pp={}", pp), fmt::format("parallelism.vpp={}", vpp), std::string("parallelism.ep=2"),
        fmt::format("batch.gbs={}", m * 8 / pp), fmt::format("model.layers=[{{kind: moe, count: {}}}]", 2 * pp * vpp)})
    arguments.insert(arguments.end(), {"--set", text});
  return arguments;
}

std::vector<std::string> with(std::vector<std::string> arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more);
  return arguments;
}

// Two chunks per rank whose forwards and backwards are paired.
std::vector<std::string> paired(const char* command) {
  return with(small(command, 2, 2, 8),
              {"--set", "schedule={name: interleaved_1f1b, overlap_moe_expert_parallel_comm: true, "
                        "delay_wgrad_compute: true}"});
}

// The step time of a JSON result.
std::string step_time(const Ran& ran) {
  const std::size_t at = ran.out.find("\"step_time_s\": ");
  return at == std::string::npos ? "none: " + ran.err : ran.out.substr(at, ran.out.find('\n', at) - at);
}

void check_refused(const Ran& ran, std::initializer_list<const char*> parts) {
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  for (const char* part : parts) CHECK_MESSAGE(ran.err.find(part) != std::string::npos, ran.err << "lacks " << part);
}

constexpr const char* kTwoRanks = "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n";

} // namespace

TEST_CASE("Torch's files go through the command line byte for byte, and run") {
  if (!std::filesystem::exists(kFolder)) {
    MESSAGE("skipped: no " << kFolder);
    return;
  }
  struct File {
    const char* name;
    const char* schedule; // ours that equals it
    int pp, vpp, m;
  };
  for (const File& f :
       {File{"1f1b_2rank_3mb_comms.csv", "1f1b", 2, 1, 3}, File{"1f1b_4rank_8mb_comms.csv", "1f1b", 4, 1, 8},
        File{"1f1b_4rank_8mb_compute.csv", "1f1b", 4, 1, 8},
        File{"interleaved1f1b_4rank_2stage_8mb_compute.csv", "interleaved_1f1b", 4, 2, 8},
        File{"zb1p_2rank_2stage_8mb_compute_I_notation.csv", "interleaved_zb", 2, 2, 8},
        File{"zbv_2rank_4mb_comms.csv", "zb_v", 2, 2, 4}, File{"zbv_4rank_8mb_compute.csv", "zb_v", 4, 2, 8},
        File{"dualpipev_2rank_4mb_comms.csv", "dualpipe_v", 2, 2, 4},
        File{"dualpipev_4rank_10mb.csv", "dualpipe_v", 4, 2, 10}}) {
    CAPTURE(f.name);
    const std::string file = std::string(kFolder) + f.name;
    const Ran copied = run_command({"import", "schedule", file, "--csv", "-"});
    CHECK_MESSAGE(copied.code == 0, copied.err);
    CHECK(copied.out == read_text_file(file));
    const std::vector<std::string> run = with(small("run", f.pp, f.vpp, f.m), {"--json", "-"});
    const Ran theirs = run_command(with(run, {"--schedule", file}));
    CHECK_MESSAGE(theirs.code == 0, theirs.err);
    CHECK(step_time(theirs) == step_time(run_command(with(run, {"--schedule", f.schedule}))));
    std::vector<std::string> ours = {"schedule", f.schedule, "--csv", "-"};
    ours = with(ours, {"--pp", std::to_string(f.pp), "--vpp", std::to_string(f.vpp), "-m", std::to_string(f.m)});
    if (std::string(f.name).find("comms") != std::string::npos) ours.emplace_back("--comms");
    CHECK(run_command(ours).out == read_text_file(file));
  }
}

TEST_CASE("schedule shows an order, its bubble and what it holds") {
  const Ran ran = run_command({"schedule", "zb_v", "--pp", "4", "--vpp", "2", "-m", "8"});
  CHECK(ran.code == 0);
  for (const char* part : {"4 ranks, 8 stages, 8 micro-batches", "weight gradients apart", "makespan 51", "8 8 8 8"})
    CHECK_MESSAGE(ran.out.find(part) != std::string::npos, part);
  CHECK(run_command({"schedule", "1f1b", "--pp", "2", "-m", "3", "--order"}).out.find("r1: 1F0 1B0") !=
        std::string::npos);
  check_refused(run_command({"schedule", "dualpipe", "--pp", "4", "-m", "7"}), {"dualpipe", "nearest legal", "8"});
  check_refused(run_command({"schedule", "dualpip"}), {"did you mean 'dualpipe'"});
  check_refused(run_command({"schedule", "dualpipe", "--csv", "-", "--comms"}), {"one rank"});
}

TEST_CASE("An experiment can name a schedule's file; sizes that do not fit name the nearest that do") {
  const TempFolder folder;
  folder.write("order.csv", kTwoRanks);
  const std::string experiment = folder.write(
      "e.yaml",
      "experiment: own\nmodel: toy\ncluster: {topology: h100_node_8, profile: h100_sxm/2026-11-29-published}\n"
      "parallelism: {pipeline_model_parallel_size: 2, expert_model_parallel_size: 4}\n"
      "batch: {micro_batch_size: 1, global_batch_size: 12, seq_length: 4096}\nschedule: {file: order.csv}\n");
  const Ran ran = run_command({"run", experiment});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("order.csv, seed 1") != std::string::npos);
  check_refused(run_command({"run", experiment, "--set", "batch.gbs=16"}),
                {"order.csv has 3 micro-batches, the experiment 4", "global_batch_size: 12"});
  check_refused(run_command({"run", experiment, "--set", "schedule.name=1f1b"}), {"schedule.file has the whole order"});
  check_refused(run_command({"run", experiment, "--set", "schedule.file=absent.csv"}), {"absent.csv"});
  check_refused(run_command({"search", experiment}), {"schedule.file"});
  CHECK(run_command({"check", experiment}).code == 0);
  CHECK(run_command({"memory", experiment}).code == 0);
}

TEST_CASE("Schedules that cannot run are refused at the cell that is wrong") {
  const TempFolder folder;
  const auto import = [&](const std::string& text) {
    return run_command({"import", "schedule", folder.write("s.csv", text)});
  };
  check_refused(import("0F0,0F1,0B1,0B0\n1F1,1B1,1F0,1B0,1X1\n"), {"s.csv:2:17", "unknown action 'X'"});
  // Ragged rows are how torch ends its ranks; an action that is missing is not.
  CHECK(import("0F0,0F1,0B0,0F2,0B1,0B2\n,1F0,1B0,1F1,1B1,1F2,1B2,\n").code == 0);
  check_refused(import("0F0,0F1,0B0,0B1\n1F0,1B0,1F1\n"), {"s.csv:2", "1B1"});
  check_refused(import("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"), {"deadlock", "waits for"});
  check_refused(import("0F0,(0F1;0B1)OVERLAP_F_B,0B0\n1F0,1F1,1B1,1B0\n"), {"s.csv:1:5", "micro-batch"});
  // A forward beside an input gradient is sound and runs, though no schedule of ours has one.
  folder.write("fi.csv", "0F0,0F1,0I0,0W0,0F2,0B1,0B2\n1F0,1B0,1F1,(1F2;1I1)OVERLAP_F_B,1W1,1B2\n");
  const Ran input = run_command(with(small("run", 2, 1, 3), {"--schedule", folder / "fi.csv", "--overlap", "exact"}));
  CHECK(input.code == 2); // nothing to search
  CHECK(run_command(with(small("run", 2, 1, 3), {"--schedule", folder / "fi.csv"})).code == 0);
  const Ran old = import("0F0,0F1,0B0,0W0,0B1,0W1\n1F0,1B0,1W0,1F1,1B1,1W1\n");
  CHECK(old.code == 0);
  CHECK(old.err.find("old letters") != std::string::npos);
}

TEST_CASE("The pairs run as the chosen scheduler orders them, and the result says so") {
  const std::string megatron = step_time(run_command(with(paired("run"), {"--json", "-"})));
  CHECK(megatron == step_time(run_command(with(paired("run"), {"--json", "-", "--overlap", "megatron"}))));
  for (const char* scheduler : {"fifo", "align", "align_defer", "exact"}) {
    CAPTURE(scheduler);
    const Ran ran = run_command(with(paired("run"), {"--json", "-", "--overlap", scheduler}));
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(ran.out.find(fmt::format("\"scheduler\": \"{}\"", scheduler)) != std::string::npos);
    const std::string in_file = fmt::format("schedule.overlap.scheduler={}", scheduler);
    CHECK(step_time(run_command(with(paired("run"), {"--json", "-", "--set", in_file}))) == step_time(ran));
    if (std::string(scheduler) == "fifo") CHECK(step_time(ran) != megatron);
  }
  const Ran text = run_command(with(paired("run"), {"--overlap", "align_defer"}));
  CHECK(text.out.find("pair orders") != std::string::npos);
  CHECK(text.out.find("searched for") != std::string::npos);
  check_refused(run_command(with(paired("run"), {"--overlap", "align_deffer"})), {"did you mean 'align_defer'"});
  check_refused(run_command({"run", kTemplate, "--overlap", "exact"}), {"co-schedules no pairs"});
  check_refused(run_command(with(paired("run"), {"--set", "schedule.overlap.scheduler=best"})), {"overlap scheduler"});
}

TEST_CASE("A saved order runs; a task that does not exist is shown where it stands") {
  const TempFolder folder;
  const std::string file = folder / "fifo.yaml";
  CHECK(run_command(with(paired("pair"), {"--pair", "F:1,B:1", "--method", "fifo", "--save-order", file})).code == 0);
  const Ran ran = run_command(with(paired("run"), {"--overlap", file}));
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("fifo.yaml") != std::string::npos);
  CHECK(ran.out.find("by megatron") != std::string::npos); // the other pairs
  std::string wrong = read_text_file(file);
  wrong.replace(wrong.find("F_ATTN.0"), 8, "F_ATTN.9");
  const std::string bad = folder.write("bad.yaml", wrong);
  check_refused(run_command(with(paired("run"), {"--overlap", bad})),
                {"bad.yaml:5:", "task F_ATTN.9 does not exist", "did you mean"});
  const std::string overlap = "schedule.overlap={scheduler: align, orders: \"" + bad + "\"}";
  check_refused(run_command(with(paired("run"), {"--set", overlap})), {"bad.yaml:5:", "F_ATTN.9"});
}

TEST_CASE("A plan keeps the orders of its pairs, and run executes them") {
  const TempFolder folder;
  const std::string plan = folder / "plan.yaml";
  const std::string costs = folder / "pairs.csv";
  const auto make = with(paired("plan"), {"--overlap", "align_defer", "--radius", "1", "--refine", "1", "-o", plan,
                                          "--pair-costs", costs});
  const Ran planned = run_command(make);
  CHECK_MESSAGE(planned.code == 0, planned.err);
  CHECK(read_text_file(costs).find("# method align_defer") != std::string::npos);
  CHECK(run_command(make).out.find("pairs") != std::string::npos);
  const std::string text = read_text_file(plan);
  CHECK(text.find("overlap: {scheduler: align_defer") != std::string::npos);
  CHECK(text.find("    compute: [") != std::string::npos);
  const Ran ran = run_command(with(paired("run"), {"--plan", plan, "--json", "-"}));
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("plan.yaml") != std::string::npos);
  // Other costs: the orders are stale. The partition alone is still good.
  const auto other = with(paired("run"), {"--plan", plan, "--set", "batch.seq_length=2048"});
  check_refused(run_command(other), {"stale", "tessella plan"});
  CHECK(run_command(with(other, {"--overlap", "megatron"})).code == 0);
  std::string wrong = text;
  wrong.replace(wrong.find("B_COMB."), 7, "B_COMB.7"); // B_COMB.1 becomes B_COMB.71
  const Ran refused = run_command(with(paired("run"), {"--plan", folder.write("bad.yaml", wrong)}));
  check_refused(refused, {"bad.yaml:", "does not exist", "did you mean"});
}

TEST_CASE("Schedules are compared on a basis that is said") {
  const std::vector<std::string> compare = small("compare", 2, 2, 8);
  const Ran devices = run_command(with(compare, {"--schedules", "1f1b,zb_v,dualpipe,dualpipe_v,chimera"}));
  CHECK_MESSAGE(devices.code == 0, devices.err);
  for (const char* part : {"equal devices: 8 GPUs", "1f1b", "zb_v", "FLOPs", "given", "* "})
    CHECK_MESSAGE(devices.out.find(part) != std::string::npos, part);
  const Ran stages = run_command(with(compare, {"--schedules", "1f1b,zb_v", "--basis", "stages", "--json", "-"}));
  CHECK(stages.out.find("\"basis\": \"stages\"") != std::string::npos);
  CHECK(stages.out.find("cluster") != std::string::npos); // four ranks of one stage need 16 GPUs
  const Ran odd = run_command(with(small("compare", 2, 1, 7), {"--schedules", "1f1b,chimera"}));
  CHECK(odd.out.find("cannot run: chimera") != std::string::npos);
  CHECK(odd.out.find("nearest: 8") != std::string::npos);
  check_refused(run_command(with(compare, {"--schedules", "1f1v"})), {"unknown schedule"});
}
