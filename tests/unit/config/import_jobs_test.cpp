// torchtitan jobs, SimAI workloads and Chakra traces as ours; files in the wrong role.
#include <doctest/doctest.h>

#include <limits>
#include <sstream>

#include "sim/base/error.h"
#include "sim/config/file_role.h"
#include "sim/config/import_chakra.h"
#include "sim/config/import_simai.h"
#include "sim/config/import_torchtitan.h"
#include "sim/config/load.h"
#include "sim/config/toml.h"

using namespace tessella;

namespace {

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kJob = R"([job]
description = "a job" # for people
[model]
name = "qwen3"
flavor = "30B-A3B"
converters = ["float8", 'other']
[training]
local_batch_size = 16
seq_len = 4_096
made_up = 1
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "1F1B"
expert_parallel_degree = 8
[activation_checkpoint]
mode = "full"
)";

ImportedTorchtitan titan(const std::string& text, std::optional<std::int64_t> world = 128) {
  TorchtitanSettings settings;
  settings.world = world;
  return import_torchtitan("job.toml", text, settings);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kJob;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Protocol buffers, as far as a trace needs them.
std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string number(int field, std::uint64_t v) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(v);
}
std::string bytes(int field, const std::string& text) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(text.size()) + text;
}
std::string message(const std::string& body) {
  return varint(body.size()) + body;
}
std::string node(std::uint64_t type, const std::string& attributes) {
  return message(number(1, 7) + bytes(2, "n") + number(3, type) + number(7, 12) + attributes);
}
std::string attribute(const std::string& name, std::uint64_t v) {
  return bytes(10, bytes(1, name) + number(9, v));
}
std::string group(const std::string& name) {
  return bytes(10, bytes(1, "pg_name") + bytes(29, name));
}
const std::string kMetadata = message(bytes(1, "0.0.4"));

ChakraTrace chakra(const std::string& text) {
  std::istringstream in(text);
  return read_chakra("t.et", in);
}

} // namespace

TEST_CASE("A torchtitan job becomes an experiment with its sizes, batch, schedule and precision") {
  const ImportedTorchtitan job = titan(kJob);
  for (const char* part :
       {"model: \"qwen3_30b_a3b\"", "world_size: 128", "tensor_model_parallel_size: 2",
        "pipeline_model_parallel_size: 4", "num_virtual_stages_per_pipeline_rank: 1", "expert_model_parallel_size: 8",
        "micro_batch_size: 1", "global_batch_size: 256", // 16 x dp 16
        "seq_length: 4096", "precision: fp8", "granularity: full", "name: 1f1b", "h100_rail_256"})
    CHECK_MESSAGE(has(job.yaml, part), part);
  CHECK(job.ignored == std::vector<std::string>{"job.description"});
  CHECK(job.unknown == std::vector<std::string>{"training.made_up"});
  CHECK(job.warnings.size() == 2); // FSDP, the GPUs
  CHECK(has(titan(with("\"1F1B\"", "\"Interleaved1F1B\"")).yaml, "num_virtual_stages_per_pipeline_rank: 2"));
  CHECK(has(titan(with("pipeline_parallel_degree = 4", "pipeline_parallel_degree = 1")).yaml, "micro_batch_size: 16"));
}

TEST_CASE("What a torchtitan job lacks or does that is not modelled is said with its place") {
  CHECK(has(refusal([] { titan(kJob, std::nullopt); }), "job.toml:13:30: error: all GPUs that are left: give their"));
  CHECK(has(refusal([] { titan(kJob, 100); }), "100 GPUs are not 16"));
  CHECK(has(refusal([] { titan(with("\"30B-A3B\"", "\"31B\"")); }), "'qwen3/31B' is none of the models"));
  CHECK(has(refusal([] { titan(with("\"1F1B\"", "\"1F1V\"")); }), "schedule '1F1V' is none of"));
  CHECK(has(refusal([] { titan(with("made_up = 1", "enable_cpu_offload = true")); }), "is not modelled"));
  CHECK(has(refusal([] { titan(with("made_up = 1", "seq_len = 1")); }), "given twice"));
  CHECK(has(refusal([] { titan(with("16\n", "\"16\"\n")); }), "is not a whole number"));
}

TEST_CASE("TOML that is not read is refused by name and position") {
  const auto why = [](const std::string& text) { return refusal([&] { parse_toml("f.toml", text); }); };
  CHECK(has(why("a = 1979-05-27T07:32:00Z"), "f.toml:1:5: error: '1979-05-27T07:32:00Z' is neither"));
  CHECK(has(why("[[a]]"), "arrays of tables"));
  CHECK(has(why("a = {b = 1}"), "inline tables"));
  CHECK(has(why("a = \"\"\"x\"\"\""), "several lines"));
  CHECK(has(why("a = \"x"), "no closing quote"));
  CHECK(has(why("a = [1, 2"), "does not end on its line"));
  CHECK(has(why("a 1"), "expected ="));
  CHECK(has(why("a = 1 2"), "expected the end of the line"));
  const auto entries = parse_toml("f.toml", "x.\"y z\" = 'a\\b' # c\r\n[t]\nl = [ 1_0, true, ]\n");
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].path == "x.y z");
  CHECK(entries[0].text == "a\\b");
  CHECK(entries[1].path == "t.l");
  CHECK(entries[1].items == std::vector<std::string>{"10", "true"});
}

TEST_CASE("A Chakra trace adds up by type and group; what is unknown is skipped") {
  const std::string trace = kMetadata + node(4, attribute("num_ops", 5)) +
                            node(7, attribute("comm_type", 6) + attribute("comm_size", 1'000'000) + group("ep")) +
                            node(7, attribute("comm_type", 6) + attribute("comm_size", 3'000'000) + group("ep")) +
                            node(7, attribute("comm_type", 0) + attribute("comm_size", 5) + group("dp")) +
                            node(5, attribute("comm_size", 64)) + node(6, bytes(99, "a field of tomorrow"));
  const ChakraTrace t = chakra(trace);
  CHECK(t.version == "0.0.4");
  CHECK(t.nodes == 6);
  CHECK(t.compute_nodes == 1);
  CHECK(t.without_size == 1);
  CHECK(t.ledger == CommLedger{{"ALL_TO_ALL", "", "ep", 2, {4'000'000}, {3'000'000}},
                               {"ALL_REDUCE", "", "dp", 1, {5}, {5}},
                               {"SEND", "", "", 1, {64}, {64}},
                               {"RECV", "", "", 1, {0}, {0}}});
  for (std::size_t cut = 1; cut < trace.size(); ++cut) { // cut anywhere: fewer nodes, or said to be damaged
    std::int64_t nodes = 0;
    const std::string why = refusal([&] { nodes = chakra(trace.substr(0, cut)).nodes; });
    CHECK(nodes < 6);
    CHECK((why == "accepted" || has(why, "damaged one: at byte") || has(why, "holds no nodes")));
  }
  CHECK(has(refusal([] { chakra(kMetadata + varint(std::numeric_limits<std::uint64_t>::max())); }), "64 MiB"));
  CHECK(has(refusal([] { chakra(kMetadata + node(77, "")); }), "unknown type"));
  CHECK(has(refusal([] { chakra(kMetadata + node(7, attribute("comm_type", 66))); }), "collective of unknown type"));
  CHECK(has(refusal([] { chakra(""); }), "holds no nodes"));
}

TEST_CASE("A SimAI workload adds up, and becomes an experiment once model and sequence are given") {
  const SimaiWorkload w = parse_simai(
      "w.txt",
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 8 pp: 4 vpp: 1 ga: 16 all_gpus: 128 "
      "pp_comm: 8\n2\na -1 1 ALLGATHER 100 1 NONE 0 1 ALLTOALL_EP 7 1\nb -1 1 ALLGATHER 50 1 NONE 0 1 NONE 0 1\n");
  CHECK(ledger_of(w) ==
        CommLedger{{"ALLGATHER", "forward", "", 2, {150}, {100}}, {"ALLTOALL_EP", "weight_grad", "", 1, {7}, {7}}});
  const std::string y =
      experiment_of(w, {"job", "mixtral_8x7b", "h100_rail_256", "h100_sxm/2026-11-29-published", 2, 4096});
  CHECK(has(y, "micro_batch_size: 2, global_batch_size: 512, seq_length: 4096")); // 16 * 2 * dp 16
  CHECK(has(y, "pipeline_model_parallel_size: 4"));
}

TEST_CASE("A file in the wrong role is answered with the role it fits") {
  const auto why = [](const std::string& text, FileRole wanted) {
    return refusal([&] { require_role("f", text, wanted); });
  };
  CHECK(has(why("model: m\nhidden_size: 8\n", FileRole::experiment),
            "is a model, not an experiment; an experiment names"));
  CHECK(
      has(why("experiment: e\nmodel: m\nbatch: {}\n", FileRole::sweep), "is an experiment, not a sweep; tessella run"));
  CHECK(has(why("sweep: s\nexperiment: e.yaml\n", FileRole::experiment), "is a sweep"));
  CHECK(has(why("{\"model_type\": \"x\"}", FileRole::model), "is a Hugging Face config.json"));
  CHECK(has(why("{\"step_time_s\": 1, \"ledger\": {}}", FileRole::experiment), "tessella compare takes it"));
  CHECK(has(why("{\"traceEvents\": []}", FileRole::experiment), "Kineto"));
  CHECK(has(why(kJob, FileRole::experiment), "is a torchtitan job"));
  CHECK(has(why("0F0,,\n,0F0,\n", FileRole::experiment), "is a torch pipelining schedule"));
  CHECK(has(why("#!/bin/bash\n", FileRole::experiment), "import megatron"));
  CHECK(has(why("\x1f\x8b..", FileRole::experiment), "unpack it first"));
  CHECK(has(why(kMetadata + node(4, ""), FileRole::experiment), "is a Chakra execution trace"));
  CHECK(has(why(std::string("SQLite format 3\0", 16), FileRole::sweep), "is a results database"));
  // A slip of the pen is the reader's to explain, not a role.
  CHECK(why("experimnt: e\nmodel: m\n", FileRole::experiment) == "accepted");
  CHECK(why("", FileRole::experiment) == "accepted");
}
