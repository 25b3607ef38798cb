// Requests that users have made of planners, with the answers they should get (inputs and expectations copied from the
// case files 01, 03, 04, 05, 08 and 30).
#include <doctest/doctest.h>

#include "tests/support/legality_plan.h"

using namespace tessella;
using namespace tessella::test;

namespace {

using Counts = std::vector<std::int64_t>;

TestPlan with_layout(const std::string& layout, std::int64_t layers, std::int64_t mtp, std::int64_t pp) {
  TestPlan p = pipeline(layers, pp);
  p.model.mtp_num_layers = mtp;
  p.layout.layout = layout;
  return p;
}

} // namespace

TEST_CASE("case 01: layers that the pipeline cannot divide are never lost") {
  Verdict v = pipeline(30, 4).check();
  CHECK(mentions(errors(v), {"num_layers", "30", "pipeline", "4"}));
  CHECK(mentions(suggestions(v), {"[7, 8, 8, 7]", "pipeline_model_parallel_layout: \"Et*7|t*8|t*8|t*7L\""}));

  TestPlan glm;
  glm.model = uniform_model(moe_kind(128, 8), 46);
  glm.model.kinds[0].attention = gqa(96, 8);
  glm.parallelism = {.world_size = 64, .tp = 8, .pp = 4, .ep = 16};
  glm.batch = {2, 16, 4096};
  v = glm.check();
  CHECK(v.violations.size() == 1);
  CHECK(mentions(errors(v), {"num_layers", "46", "4"}));

  TestPlan last = pipeline(20, 1);
  last.layout.decoder_last_pipeline_num_layers = 1;
  v = last.check();
  CHECK(mentions(errors(v), {"decoder_last_pipeline_num_layers", "num_layers", "20", "1"}));
  CHECK(v.violations[0].suggestion == "decoder_last_pipeline_num_layers: 20");

  v = pipeline(6, 8).check();
  CHECK(mentions(errors(v), {"stages", "8", "layers", "6"}));
  CHECK(v.violations[0].suggestion == "pipeline_model_parallel_size: 2");
}

TEST_CASE("case 03: layout strings") {
  Verdict v = with_layout("Et|(tt|)*30mL", 61, 1, 8).check();
  CHECK(v.legal());
  CHECK(v.partition.stages.size() == 32);
  CHECK(v.vpp == 4);
  CHECK(layers_per_rank(v.partition, 8) == Counts{7, 8, 8, 8, 8, 8, 8, 6});
  CHECK(v.partition.stages[31].mtp_layers == 1); // stage 31 is rank 7
  CHECK(v.partition.stages[31].loss);
  CHECK(v.warnings.empty());

  v = with_layout("Et*2|(tt|)*22t|(tt|)*7mL", 61, 1, 8).check();
  CHECK(v.legal());
  CHECK(v.vpp == 4);
  CHECK(layers_per_rank(v.partition, 8) == Counts{8, 8, 8, 8, 8, 8, 8, 5});

  v = with_layout("Et|(tt|)*30L", 61, 0, 16).check();
  CHECK(v.legal());
  CHECK(v.vpp == 2);
  CHECK(layers_per_rank(v.partition, 16) == Counts{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2});

  v = with_layout("Et|(tt|)*29L|", 61, 0, 16).check();
  CHECK(mentions(errors(v), {"decoder", "59", "61"}));
  CHECK(mentions(warnings(v), {"empty stage 31"}));

  v = with_layout("Et|(tt|)*29|L", 59, 0, 16).check();
  CHECK(v.legal());
  CHECK(v.partition.stages[30].empty());
  CHECK(mentions(warnings(v), {"empty stage 30", "deadlock"}));

  v = with_layout("Ett|tt|tt|L", 6, 0, 3).check();
  CHECK(mentions(errors(v), {"4", "3", "divisible"}));
  CHECK(mentions(suggestions(v), {"[2, 2, 2]"}));
}

TEST_CASE("case 04: uneven first and last stages") {
  TestPlan p = pipeline(61, 4);
  p.layout.decoder_last_pipeline_num_layers = 13;
  CHECK(layers_per_stage(p.check().partition) == Counts{16, 16, 16, 13});

  p = pipeline(94, 8, 4);
  p.layout.account_for_embedding_in_pipeline_split = true;
  p.layout.account_for_loss_in_pipeline_split = true;
  Counts expected(32, 3);
  expected.front() = expected.back() = 2;
  CHECK(layers_per_stage(p.check().partition) == expected);

  const Verdict v = pipeline(94, 8, 4).check();
  CHECK(mentions(errors(v), {"94", "32"}));
  CHECK(mentions(suggestions(v), {"\"Ett|(ttt|)*30ttL\"", "account_for_embedding_in_pipeline_split"}));
}

TEST_CASE("case 05: expert grid against the world") {
  TestPlan p;
  p.model = uniform_model(moe_kind(64, 4), 46);
  p.parallelism = {.world_size = 8, .tp = 2, .pp = 2, .ep = 8};
  Verdict v = p.check();
  CHECK(v.violations.size() == 1);
  CHECK(mentions(errors(v), {"world_size 8", "16", "expert"}));
  CHECK(v.violations[0].suggestion == "expert_model_parallel_size: 4");
  p.parallelism.ep = 4;
  CHECK(p.check().legal());
  CHECK(p.parallelism.dp() == 2);
  CHECK(p.parallelism.edp() == 1);

  p.parallelism = {.world_size = 4, .tp = 4, .ep = 4, .etp = 4};
  p.etp_was_defaulted = true;
  v = p.check();
  CHECK(mentions(errors(v), {"16", "4"}));
  CHECK(mentions(warnings(v), {"expert_tensor_parallel_size", "default"}));
  CHECK(v.violations[0].suggestion == "expert_tensor_parallel_size: 1");

  TestPlan q;
  q.model = uniform_model(moe_kind(128, 8), 96);
  q.parallelism = {.world_size = 256, .tp = 2, .pp = 8, .ep = 32};
  CHECK(q.check().legal()); // EP does not multiply the world
  CHECK(q.parallelism.dp() == 16);
  CHECK(q.parallelism.edp() == 1);
}

TEST_CASE("case 08: fewer micro-batches than stages warns, none is an error") {
  TestPlan p = pipeline(32, 4);
  p.batch.global_batch_size = 1;
  Verdict v = p.check();
  CHECK(v.legal());
  CHECK(mentions(warnings(v), {"microbatches", "stages", "1", "4"}));
  p.batch.global_batch_size = 4;
  CHECK(p.check().warnings.empty());

  p = TestPlan{};
  p.parallelism = {.world_size = 32, .tp = 4};
  p.batch.global_batch_size = 4;
  v = p.check();
  CHECK(mentions(errors(v), {"global_batch_size", "4", "8", "0 microbatches"}));
  CHECK(v.violations[0].suggestion == "global_batch_size: 8");
}

TEST_CASE("case 30: the largest jobs are legal and counted in 64 bits") {
  TestPlan p;
  p.model = uniform_model(dense_kind(), 96);
  p.parallelism = {.world_size = 12288, .tp = 8, .pp = 16};
  p.batch = {1, 9216, 2048};
  const Verdict v = p.check();
  CHECK(v.legal());
  CHECK(p.parallelism.dp() == 96);
  p.parallelism = {.world_size = 9216, .tp = 2, .pp = 12, .vpp = 8};
  CHECK(p.parallelism.dp() == 384);
  p.batch = {1, 384 * 24, 2048};
  CHECK(p.check().legal());
}
