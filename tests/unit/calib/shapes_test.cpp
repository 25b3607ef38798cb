// The shapes that a model needs: every kernel of the layers it has, at sizes counted by hand, and none twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "calib/bench/model_shapes.h"
#include "calib/host/cases.h"
#include "calib/loop/shapes.h"
#include "sim/config/load.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

bool has(const std::vector<Job>& jobs, const OpShape& shape) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const Job& j) { return j.shape == shape; });
}

ShapeOptions plain() {
  ShapeOptions o;
  o.reference = false;
  return o;
}

} // namespace

TEST_CASE("Qwen3-235B at EP8 and TP1: its projections, experts and attention") {
  const Model model = load_model("models/qwen3_235b_a22b.yaml");
  const auto jobs = order_by_information(model_shapes(model, plain()));
  // 64 heads and 2 x 4 key-value heads of 128 from 4,096.
  CHECK(has(jobs, {"gemm", "", "bf16", {{"m", 4096}, {"n", 9216}, {"k", 4096}}, 1}));
  CHECK(has(jobs, {"gemm_wgrad", "", "fp8", {{"m", 9216}, {"n", 4096}, {"k", 4096}}, 1}));
  CHECK(has(jobs, {"gemm_dgrad", "", "bf16", {{"m", 4096}, {"n", 8192}, {"k", 4096}}, 1})); // of the output projection
  // 128 experts over 8 ranks; 4,096 tokens x 8 rows.
  CHECK(has(
      jobs,
      {"grouped_gemm", "", "bf16", {{"experts", 16}, {"tokens", 32768}, {"in", 4096}, {"out", 3072}, {"skew", 0}}, 1}));
  CHECK(has(jobs, {"attention_fwd",
                   "cudnn",
                   "bf16",
                   {{"batch", 1}, {"seq", 4096}, {"heads", 64}, {"kv_heads", 4}, {"qk_dim", 128}, {"v_dim", 128}},
                   1}));
  CHECK(has(jobs, {"router", "topk", "", {{"tokens", 4096}, {"topk", 8}, {"experts", 128}}, 1}));
  // The router and the output layer stay in bf16.
  CHECK_FALSE(has(jobs, {"gemm", "", "fp8", {{"m", 4096}, {"n", 128}, {"k", 4096}}, 1}));
  std::set<OpShape> distinct;
  for (const Job& job : jobs) CHECK(distinct.insert(job.shape).second);
}

TEST_CASE("Sizes that do not divide the model are left out; tensor parallelism divides heads and rows") {
  const Model model = load_model("models/qwen3_235b_a22b.yaml");
  ShapeOptions o = plain();
  o.ep = {8, 64, 256};
  o.tp = {2};
  const auto jobs = model_shapes(model, o);
  CHECK(has(
      jobs,
      {"grouped_gemm", "", "bf16", {{"experts", 2}, {"tokens", 16384}, {"in", 4096}, {"out", 3072}, {"skew", 0}}, 1}));
  // 128 experts do not spread over 256 ranks: two sizes are left, two layers each, two skews.
  CHECK(std::count_if(jobs.begin(), jobs.end(),
                      [](const Job& j) { return j.shape.op == "grouped_gemm" && j.shape.dtype == "bf16"; }) == 8);
  CHECK(has(jobs, {"gemm", "", "bf16", {{"m", 4096}, {"n", 4608}, {"k", 4096}}, 1}));
  CHECK(sizes_left_out(model, o) == std::vector<std::string>{"EP 256 does not divide 128 experts"});
  o.ep = {8};
  o.tp = {2, 3};
  CHECK(sizes_left_out(model, o) ==
        std::vector<std::string>{"TP 3 does not divide 4096 tokens", "TP 3 does not divide 64 heads"});
}

TEST_CASE("Every model in the tree has shapes, and collectives come with ranks") {
  for (const char* name : {"deepseek_v3", "qwen3_next_80b_a3b", "gpt_oss_120b", "llama3_70b", "toy"}) {
    const Model model = load_model(std::string("models/") + name + ".yaml");
    ShapeOptions o = plain();
    o.ranks = 8;
    const auto jobs = model_shapes(model, o);
    CHECK_MESSAGE(jobs.size() > 20, name);
    std::set<std::int64_t> ranks;
    for (const Job& j : jobs) {
      CHECK(j.step_seconds > 0.0);
      for (const auto& dim : j.shape.dims) CHECK_MESSAGE(dim.second >= 0, j.shape.text(), " ", dim.first);
      ranks.insert(j.shape.ranks);
    }
    CHECK(ranks == std::set<std::int64_t>{1, 2, 4, 8});
  }
}

TEST_CASE("Uneven tokens sum to the total and follow the ramp") {
  const OpShape even{"grouped_gemm", "", "bf16", {{"experts", 3}, {"tokens", 100}, {"skew", 0}}, 1};
  CHECK(expert_tokens(even) == std::vector<std::int64_t>{33, 34, 33});
  const OpShape uneven{"grouped_gemm", "", "bf16", {{"experts", 4}, {"tokens", 800}, {"skew", 50}}, 1};
  CHECK(expert_tokens(uneven) == std::vector<std::int64_t>{100, 167, 233, 300});
}

TEST_CASE("Everything the closed loop runs can be measured on the host") {
  const LoopModel model;
  for (const LoopShape& s : loop_shapes(model, default_plans(model, 4))) {
    CHECK(s.count > 0.0);
    if (s.shape.ranks > 1) continue;
    CHECK_MESSAGE(host_case(s.shape) != nullptr, s.shape.text());
  }
}
