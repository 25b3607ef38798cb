// Layers over stages without a layout string, and layout strings against a model.
#include <doctest/doctest.h>

#include "tests/support/legality_plan.h"

using namespace tessella;
using namespace tessella::test;

namespace {

using Counts = std::vector<std::int64_t>;

} // namespace

TEST_CASE("even split, chunk by chunk") {
  const Verdict v = pipeline(16, 4, 2).check();
  CHECK(layers_per_stage(v.partition) == Counts{2, 2, 2, 2, 2, 2, 2, 2});
  CHECK(v.vpp == 2);
  CHECK(v.partition.stages[5].first_layer == 10);
  CHECK(v.partition.stages.front().embedding);
  CHECK(v.partition.stages.back().loss);
}

TEST_CASE("MTP layers go to the last stage by default") {
  TestPlan p = pipeline(8, 4);
  p.model.mtp_num_layers = 2;
  CHECK(to_layout(p.check().partition) == "Ett|tt|tt|ttmmL");
}

TEST_CASE("embedding and loss slots") {
  TestPlan p = pipeline(30, 4);
  p.layout.account_for_embedding_in_pipeline_split = true;
  p.layout.account_for_loss_in_pipeline_split = true;
  CHECK(layers_per_stage(p.check().partition) == Counts{7, 8, 8, 7});
  p = pipeline(31, 4);
  p.layout.account_for_loss_in_pipeline_split = true;
  CHECK(layers_per_stage(p.check().partition) == Counts{8, 8, 8, 7});
  p = pipeline(31, 4);
  p.layout.account_for_embedding_in_pipeline_split = true;
  CHECK(layers_per_stage(p.check().partition) == Counts{7, 8, 8, 8});
  p.layout.account_for_loss_in_pipeline_split = true;
  CHECK(mentions(errors(p.check()), {"31 + 2", "33", "4"}));
  p = pipeline(20, 1);
  p.layout.account_for_embedding_in_pipeline_split = true;
  p.layout.account_for_loss_in_pipeline_split = true;
  CHECK(layers_per_stage(p.check().partition) == Counts{20});
}

TEST_CASE("first and last counts cover all chunks of their rank") {
  TestPlan p = pipeline(20, 4, 2);
  p.layout.decoder_first_pipeline_num_layers = 2;
  p.layout.decoder_last_pipeline_num_layers = 6;
  CHECK(layers_per_stage(p.check().partition) == Counts{1, 3, 3, 3, 1, 3, 3, 3});
  p.layout.decoder_last_pipeline_num_layers = 5;
  const Verdict v = p.check();
  CHECK(mentions(errors(v), {"leave 13", "num_layers 20", "2 pipeline ranks"}));
  CHECK(v.violations[0].suggestion == "decoder_last_pipeline_num_layers: 6");
}

TEST_CASE("first and last counts that cannot be cut into chunks or do not add up") {
  TestPlan p = pipeline(21, 4, 2);
  p.layout.decoder_first_pipeline_num_layers = 3;
  CHECK(mentions(errors(p.check()), {"3 layers", "2 virtual stages"}));
  p = pipeline(20, 2);
  p.layout.decoder_first_pipeline_num_layers = 8;
  p.layout.decoder_last_pipeline_num_layers = 8;
  CHECK(mentions(errors(p.check()), {"8", "leave 4", "20"}));
  p.layout.decoder_last_pipeline_num_layers = 13;
  CHECK(mentions(errors(p.check()), {"8", "13", "exceed num_layers 20"}));
  p.layout.decoder_last_pipeline_num_layers = 12;
  CHECK(layers_per_stage(p.check().partition) == Counts{8, 12});
  p.layout.decoder_last_pipeline_num_layers = 0;
  CHECK(mentions(errors(p.check()), {"decoder_last_pipeline_num_layers is 0"}));
}

TEST_CASE("options that spread layers exclude each other") {
  TestPlan p = pipeline(8, 4);
  p.layout.layout = "Ett|tt|tt|ttL";
  CHECK(p.check().legal());
  p.layout.account_for_loss_in_pipeline_split = true;
  CHECK(mentions(errors(p.check()), {"exclude", "pipeline_model_parallel_layout", "account_for"}));
  p.layout.layout.reset();
  p.layout.decoder_first_pipeline_num_layers = 2;
  CHECK(mentions(errors(p.check()), {"exclude", "decoder_first", "account_for"}));
}

TEST_CASE("a layout string sets the virtual stages and must agree with those given") {
  TestPlan p = pipeline(8, 2);
  p.layout.layout = "Ett|tt|tt|ttL";
  CHECK(p.check().vpp == 2);
  p.parallelism.vpp = 2;
  CHECK(p.check().legal());
  p.parallelism.vpp = 4;
  CHECK(mentions(errors(p.check()), {"is 4", "4 stages", "2 pipeline ranks", "make 2"}));
  CHECK(p.check().violations[0].suggestion == "num_virtual_stages_per_pipeline_rank: 2");
}

TEST_CASE("MTP in layouts: count, one stage, last chunk, standalone") {
  TestPlan p = pipeline(8, 4);
  p.model.mtp_num_layers = 1;
  p.layout.layout = "Ett|tt|tt|ttL";
  CHECK(mentions(errors(p.check()), {"0 MTP layers", "mtp_num_layers is 1"}));
  p.layout.layout = "Ett|ttt|tttm|L";
  CHECK(p.check().legal());
  CHECK(mentions(warnings(p.check()), {"standalone MTP", "rank 2"}));
  p.model.mtp_num_layers = 2;
  p.layout.layout = "Ett|ttt|tttm|mL";
  CHECK(mentions(errors(p.check()), {"2 stages (2, 3)", "1"}));
  p = pipeline(8, 2);
  p.model.mtp_num_layers = 1;
  p.layout.layout = "Etttttttt|m||L";
  CHECK(mentions(errors(p.check()), {"stage 1", "stage 2 or later"}));
}

TEST_CASE("a layout that does not parse points at its column") {
  TestPlan p = pipeline(8, 4);
  p.layout.layout = "Ett|tt|xt|ttL";
  const Verdict v = p.check();
  REQUIRE(v.violations.size() == 1);
  CHECK(v.violations[0].column == 8);
  CHECK(mentions(errors(v), {"column 8", "'x'"}));
  CHECK(mentions(suggestions(v), {"pipeline_model_parallel_layout: \"Ett|tt|tt|ttL\"", "[2, 2, 2, 2]"}));
}
