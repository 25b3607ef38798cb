// What a user sees for bad input that only the whole program meets: schedules and orders that cannot run, files in the
// wrong role, damaged databases, mistyped commands. Each command with its error text and exit code, byte for byte;
// FOLDER stands for the test's own.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/golden.h"
#include "tests/support/temp_folder.h"

using namespace tessella::testing;

namespace {

const std::string kRecipe = "experiments/01_qwen3_235b_h100_256/experiment.yaml";
const std::string kOverlap = "experiments/01_qwen3_235b_h100_256/overlap.yaml";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string in_place(const TempFolder& folder, const std::string& command) {
  return replaced(replaced(replaced(command, "RECIPE", kRecipe), "OVERLAP", kOverlap), "FOLDER/", folder / "");
}

// One per line; what it prints on standard output is not wanted.
std::string errors_of(const TempFolder& folder, const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) {
    const CommandResult ran = tessella::testing::tessella(in_place(folder, command));
    text += "$ tessella " + command + "\n" +
            replaced(replaced(replaced(ran.err, folder / "", "FOLDER/"), kRecipe, "RECIPE"), kOverlap, "OVERLAP") +
            "exit code " + std::to_string(ran.exit_code) + "\n\n";
    CHECK_MESSAGE(ran.out.empty(), command << " printed " << ran.out);
    CHECK_MESSAGE(ran.exit_code == 2, command);
  }
  return text;
}

void golden(const char* name, const std::string& text) {
  check_golden(std::string("tests/golden/command_errors/") + name + ".txt", text);
}

} // namespace

TEST_CASE("Schedules and orders that cannot run") {
  const TempFolder folder;
  folder.write("deadlock.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
  folder.write("letters.csv", "0F0,0X1\n1F0,1B0\n");
  folder.write("ragged.csv", "0F0,0F1,0B0,0B1\n1F0\n");
  folder.write("same_pair.csv", "0F0,(0F1;0B1),0B0\n");
  folder.write("empty.csv", "");
  folder.write("escape.csv", "\x1b[31mred\n");
  const std::string saved = "pair OVERLAP --pair F:3,B:7 --method fifo --save-order FOLDER/saved.yaml";
  REQUIRE(tessella::testing::tessella(in_place(folder, saved)).exit_code == 0);
  const std::string order = read_text_file(folder / "saved.yaml");
  folder.write("no_task.yaml", replaced(order, "F_ATTN.0", "F_ATTN.9"));
  folder.write("no_name.yaml", replaced(order, "F_DISP.0", "F_DISPATCH.0"));
  folder.write("twice.yaml", replaced(order, "F_DISP.1", "F_DISP.0"));
  golden("schedules", errors_of(folder, {
                                            "schedule interleaved_1f1b --pp 4 --vpp 2 -m 7",
                                            "schedule dualpipe_v --pp 4 --vpp 2 -m 5",
                                            "schedule dualpipe --pp 4 -m 0",
                                            "schedule zb_v --pp 4 --vpp 3 -m 8",
                                            "schedule 1f1c --pp 4 -m 8",
                                            "check RECIPE --set batch.gbs=112",
                                            "run RECIPE --schedule 1f1bb",
                                            "import schedule FOLDER/deadlock.csv",
                                            "run RECIPE --schedule FOLDER/deadlock.csv",
                                            "import schedule FOLDER/letters.csv",
                                            "import schedule FOLDER/ragged.csv",
                                            "import schedule FOLDER/same_pair.csv",
                                            "import schedule FOLDER/empty.csv",
                                            "import schedule FOLDER/escape.csv",
                                            "run OVERLAP --overlap aligned",
                                            "run OVERLAP --overlap FOLDER/no_task.yaml",
                                            "run OVERLAP --overlap FOLDER/no_name.yaml",
                                            "run OVERLAP --overlap FOLDER/twice.yaml",
                                            "run RECIPE --overlap exact",
                                        }));
}

TEST_CASE("Files in the wrong role") {
  const TempFolder folder;
  folder.write("sweep.yaml", "sweep: s\nexperiment: e.yaml\ngrid: {batch.mbs: [1]}\n");
  folder.write("config.json", "{\"model_type\": \"qwen3_moe\"}");
  folder.write("trace.json", "{\"traceEvents\": []}");
  folder.write("script.sh", "#!/bin/sh\n");
  folder.write("db", "SQLite format 3 and more");
  folder.write("torch.csv", "0F0,0B0\n");
  golden("roles", errors_of(folder, {
                                        "run FOLDER/sweep.yaml",
                                        "run models/mixtral_8x7b.yaml",
                                        "check FOLDER/db",
                                        "plan FOLDER/config.json",
                                        "memory calib/profiles/h100_sxm",
                                        "search topologies/h100_rail_256.yaml",
                                        "sweep RECIPE --db FOLDER/x.db",
                                        "report RECIPE",
                                        "compare FOLDER/trace.json FOLDER/trace.json",
                                        "import hf RECIPE",
                                        "import megatron FOLDER/db -o FOLDER/x.yaml",
                                        "import torchtitan FOLDER/script.sh",
                                        "import simai RECIPE",
                                        "import chakra RECIPE",
                                        "import schedule RECIPE",
                                        "import hf FOLDER/torch.csv",
                                        "validate RECIPE",
                                        "regress --baseline RECIPE",
                                        "regress --baseline FOLDER/nowhere",
                                        "run FOLDER/nowhere.yaml",
                                    }));
}

TEST_CASE("Databases that are damaged, newer or not ours, and shards that do not exist") {
  const TempFolder folder;
  folder.write("sweep.yaml", "sweep: s\nexperiment: " + (std::filesystem::current_path() / kRecipe).string() +
                                 "\nset: {batch.gbs: 64}\ngrid: {parallelism.ep: [16, 32]}\n");
  REQUIRE(tessella::testing::tessella("sweep " + (folder / "sweep.yaml") + " --db " + (folder / "good.db")).exit_code ==
          0);
  const std::string good = read_text_file(folder / "good.db");
  std::string newer = good;
  newer[63] = 99; // user_version, bytes 60 to 63
  std::string damaged = good;
  damaged.replace(4096, 512, 512, '\x55'); // the second page: our table
  folder.write("newer.db", newer);
  folder.write("damaged.db", damaged);
  folder.write("short.db", good.substr(0, 3000));
  folder.write("text.db", "id,step_time_s\n");
  folder.write("empty.db", "");
  golden("databases", errors_of(folder, {
                                            "sweep FOLDER/sweep.yaml --db FOLDER/newer.db",
                                            "merge FOLDER/out.db FOLDER/newer.db",
                                            "sweep FOLDER/sweep.yaml --db FOLDER/damaged.db",
                                            "merge FOLDER/out.db FOLDER/damaged.db",
                                            "merge FOLDER/out.db FOLDER/short.db",
                                            "merge FOLDER/out.db FOLDER/text.db",
                                            "merge FOLDER/out.db FOLDER/empty.db",
                                            "merge FOLDER/out.db FOLDER/nowhere.db",
                                            "merge FOLDER/good.db FOLDER/good.db",
                                            "sweep FOLDER/sweep.yaml --db /nowhere/x.db",
                                            "sweep FOLDER/sweep.yaml --db FOLDER/x.db --shard 2/2",
                                            "sweep FOLDER/sweep.yaml --db FOLDER/x.db --shard a/b",
                                        }));
}

TEST_CASE("Words that make no command") {
  const TempFolder folder;
  golden("usage", errors_of(folder, {
                                        "runn RECIPE",
                                        "import",
                                        "import hff config.json",
                                        "import megatron FOLDER/train.sh \"--vocab-size 3\" -o x.yaml",
                                        "run",
                                        "run RECIPE --schedul 1f1b",
                                        "run RECIPE --timelines=3",
                                        "run RECIPE more",
                                        "run RECIPE --threads 0",
                                        "run RECIPE --threads",
                                        "run RECIPE --steps 0",
                                        "run RECIPE --precision x",
                                        "run RECIPE --trace-ranks 999 --trace t.json",
                                        "run RECIPE --set parallelism.epp=3",
                                        "completion csh",
                                        "schedule 1f1b --csv /dev/full",
                                    }));
}
