// An experiment, and the rules of legality on what it describes for a small model and cluster. A second part of the
// input, after a line "--set", is read as overrides, one per line.
#include <sstream>

#include "sim/config/experiment.h"
#include "sim/domain/legality.h"
#include "tests/support/fuzz.h"

namespace {

using namespace tessella;

Model toy_model() {
  Model m{.name = "toy", .hidden_size = 512, .vocab_size = 32000, .kinds = {}, .layers = {}, .source = "made up"};
  m.kinds = {{"dense", MultiLatentAttention{8, {}, 64, 32, 16, 32}, DenseFfn{1024, true}},
             {"moe", GroupedQueryAttention{8, 4, 64, {}, false, false, false, false, false}, MoeFfn{8, 2, 1024}}};
  m.layers = {0, 0, 1, 1, 1, 1, 1, 1};
  m.mtp_num_layers = 1;
  m.mtp_kind = 1;
  return m;
}

Cluster toy_cluster() {
  return {.name = "toy",
          .gpu = "gpu",
          .nodes = 8,
          .node = {.gpus = 8, .scale_up = {}, .nic = {}},
          .fabric = {},
          .source = "made up"};
}

Profile toy_profile() {
  Profile p;
  p.gpu.name = toy_cluster().gpu;
  p.gpu.fp8_peak = {1e15};
  return p;
}

} // namespace

FUZZ_TARGET("config_experiment") {
  std::string text(bytes);
  LoadOptions options;
  if (const std::size_t cut = text.find("\n--set\n"); cut != std::string::npos) {
    std::istringstream lines(text.substr(cut + 7));
    for (std::string line; std::getline(lines, line);) options.overrides.push_back(line);
    text.resize(cut + 1);
  }
  try {
    const Experiment e = read_experiment("fuzz.yaml", text, options);
    const Scenario s = assemble(e, toy_model(), toy_cluster(), toy_profile());
    TSL_CHECK_OP(static_cast<std::int64_t>(s.partition.stages.size()), ==, s.parallelism.num_stages());
    TSL_CHECK(s.num_micro_batches() >= 1);
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}
