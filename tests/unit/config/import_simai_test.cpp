// Case 30: sizes beyond 2^32 and both spellings of pp_comm.
#include <doctest/doctest.h>

#include <string>

#include "sim/base/error.h"
#include "sim/config/import_simai.h"

using namespace tessella;

namespace {

const std::string kHeader = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 "
                            "all_gpus: 9216 checkpoints: 0 checkpoint_initiates: 0 ";

} // namespace

TEST_CASE("case 30: the header of 9,216 GPUs and a reduce-scatter above 2^32 bytes") {
  for (const std::string spelling : {"pp_comm 50331648", "pp_comm: 50331648"}) {
    const SimaiWorkload w = parse_simai(
        "w.txt", kHeader + spelling + "\n1\ngrad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696 100\n");
    CHECK(w.parallelism.tp == 2);
    CHECK(w.parallelism.ep == 16);
    CHECK(w.parallelism.pp == 12);
    CHECK(w.parallelism.vpp == 8);
    CHECK(w.micro_batches == 24);
    CHECK(w.parallelism.world_size == 9216);
    CHECK(w.parallelism.dp() == 384);
    CHECK(w.pp_message.count == 50331648);
    REQUIRE(w.collectives.size() == 1);
    CHECK(w.collectives[0] == SimaiCollective{"grad_param_comm", "weight_grad", "REDUCESCATTER", {5615517696}});
    CHECK(w.ignored == std::vector<std::string>{"checkpoints", "checkpoint_initiates"});
  }
}

TEST_CASE("Wrong workloads are named by line and column") {
  const auto message = [](const std::string& text) {
    try {
      parse_simai("w.txt", text);
    } catch (const InputError& e) {
      return format_error(e);
    }
    return std::string("accepted");
  };
  CHECK(message("") == "w.txt: error: the file is empty; a SimAI workload has a header\n");
  CHECK(message("MICRO x\n").find("w.txt:1:1: error: not a SimAI workload") == 0);
  CHECK(message("HYBRID_TRANSFORMER pp: two\n").find("w.txt:1:24: error: 'two' is not a whole number") == 0);
  CHECK(message("HYBRID_TRANSFORMER pp: 0\n").find("0 is less than 1") != std::string::npos);
  CHECK(message("HYBRID_TRANSFORMER pp:\n").find("'pp' has no value") != std::string::npos);
  CHECK(message("HYBRID_TRANSFORMER pp: 3 all_gpus: 8\n").find("all_gpus 8 is not a multiple") != std::string::npos);
  CHECK(message(kHeader + "\nlayer -1 1 NONE\n").find("cut off") != std::string::npos);
  CHECK(message(kHeader + "\nlayer -1 1 NONE 99999999999999999999 1 NONE 0 1 NONE 0 1\n").find("not a whole number") !=
        std::string::npos);
}
