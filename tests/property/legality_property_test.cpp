// Laws over random plans: an accepted plan loses nothing, a refused one says what would mend it, and following a
// suggestion removes the complaint.
#include <doctest/doctest.h>

#include <map>
#include <numeric>

#include "sim/base/rng.h"
#include "tests/support/legality_plan.h"

using namespace tessella;
using namespace tessella::test;

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t entity) : stream_(1, Purpose::test, entity) {}
  std::int64_t roll(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(stream_.word(next_++) % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool chance(std::int64_t percent) { return roll(1, 100) <= percent; }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

std::int64_t size(Dice& dice) {
  return dice.chance(80) ? std::int64_t{1} << dice.roll(0, 4) : dice.roll(1, 12);
}

TestPlan random_plan(std::uint64_t entity) {
  Dice dice(entity);
  TestPlan p;
  const std::int64_t mtp = dice.roll(0, 1);
  if (dice.chance(70))
    p.model = uniform_model(moe_kind(8 * dice.roll(1, 16), dice.roll(1, 8)), dice.roll(1, 64), mtp);
  else
    p.model = uniform_model(dense_kind(), dice.roll(1, 64), mtp);
  p.parallelism = {dice.chance(70) ? std::int64_t{1} << dice.roll(0, 9) : dice.roll(1, 600),
                   size(dice),
                   size(dice),
                   size(dice),
                   dice.chance(60) ? 1 : dice.roll(1, 4),
                   size(dice),
                   size(dice),
                   true};
  p.etp_was_defaulted = dice.chance(30);
  if (p.etp_was_defaulted) p.parallelism.etp = p.parallelism.tp;
  p.batch = {dice.roll(1, 4), dice.chance(70) ? 64 * dice.roll(1, 16) : dice.roll(1, 1000), 1024 * dice.roll(1, 8)};
  p.schedule.name = dice.chance(50) ? "1f1b" : "interleaved_1f1b";
  p.schedule.overlap_moe_expert_parallel_comm = dice.chance(10);
  if (dice.chance(20)) p.layout.decoder_last_pipeline_num_layers = dice.roll(1, 20);
  if (dice.chance(20)) p.layout.account_for_loss_in_pipeline_split = true;
  if (dice.chance(50)) p.cluster_gpus = 512;
  return p;
}

void check_accepted(const TestPlan& p, const Verdict& v) {
  const Parallelism& q = p.parallelism;
  CHECK(q.world_size == q.tp * q.cp * q.pp * q.dp());
  std::int64_t layers = 0;
  std::int64_t mtp = 0;
  for (const StageContent& s : v.partition.stages) {
    CHECK(s.first_layer == layers);
    layers += s.num_layers;
    mtp += s.mtp_layers;
  }
  CHECK(layers == p.model.num_layers());
  CHECK(mtp == p.model.mtp_num_layers);
  CHECK(static_cast<std::int64_t>(v.partition.stages.size()) == q.pp * v.vpp);
  CHECK(parse_layout(to_layout(v.partition)) == v.partition);
  const std::int64_t m = p.batch.global_batch_size / (p.batch.micro_batch_size * q.dp());
  CHECK(m >= 1);
  CHECK(m * p.batch.micro_batch_size * q.dp() == p.batch.global_batch_size);
  if (!p.model.has_moe()) return;
  CHECK(q.world_size == q.etp * q.ep * q.pp * q.edp());
  CHECK(q.world_size == q.replicas() * q.pp * q.group_size());
  CHECK(q.group_size() % (q.tp * q.cp) == 0);
  CHECK(q.group_size() % (q.etp * q.ep) == 0);
}

// Applies "key: value # comment". False for keys this test does not know.
bool apply(const std::string& suggestion, TestPlan& p) {
  const std::map<std::string, std::int64_t Parallelism::*> sizes{
      {"world_size", &Parallelism::world_size},
      {"tensor_model_parallel_size", &Parallelism::tp},
      {"context_parallel_size", &Parallelism::cp},
      {"pipeline_model_parallel_size", &Parallelism::pp},
      {"num_virtual_stages_per_pipeline_rank", &Parallelism::vpp},
      {"expert_model_parallel_size", &Parallelism::ep},
      {"expert_tensor_parallel_size", &Parallelism::etp}};
  const std::string key = suggestion.substr(0, suggestion.find(':'));
  const std::string value = suggestion.substr(suggestion.find(':') + 2);
  if (const auto it = sizes.find(key); it != sizes.end()) {
    p.parallelism.*(it->second) = std::stoll(value);
    if (key == "expert_tensor_parallel_size") p.etp_was_defaulted = false;
    if (key == "tensor_model_parallel_size" && p.etp_was_defaulted) p.parallelism.etp = p.parallelism.tp;
  } else if (key == "global_batch_size") {
    p.batch.global_batch_size = std::stoll(value);
  } else if (key == "seq_length") {
    p.batch.seq_length = std::stoll(value);
  } else if (key == "decoder_last_pipeline_num_layers") {
    p.layout.decoder_last_pipeline_num_layers = std::stoll(value);
  } else if (key == "pipeline_model_parallel_layout") {
    p.layout = LayoutSpec{.layout = value.substr(1, value.find('"', 1) - 1)};
  } else if (key == "overlap_moe_expert_parallel_comm") {
    p.schedule.overlap_moe_expert_parallel_comm = false;
  } else {
    return false;
  }
  return true;
}

} // namespace

TEST_CASE("accepted plans lose nothing, suggestions mend what they stand next to") {
  int accepted = 0;
  int suggested = 0;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    const TestPlan p = random_plan(i);
    const Verdict v = p.check();
    if (v.legal()) {
      ++accepted;
      check_accepted(p, v);
    }
    for (const Violation& violation : v.violations) {
      CHECK(!violation.key.empty());
      const bool is_about_numbers = violation.message.find("exclude each other") == std::string::npos;
      if (is_about_numbers) CHECK(violation.message.find_first_of("0123456789") != std::string::npos);
      if (violation.suggestion.empty()) continue;
      TestPlan mended = p;
      REQUIRE_MESSAGE(apply(violation.suggestion, mended), violation.suggestion);
      ++suggested;
      const Verdict after = mended.check();
      for (const Violation& left : after.violations)
        CHECK_MESSAGE(left.message != violation.message, violation.message << " | " << violation.suggestion);
    }
  }
  CHECK(accepted > 50);
  CHECK(suggested > 1'000);
}

TEST_CASE("to_layout and parse_layout are inverse") {
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    Dice dice(1'000'000 + i);
    std::vector<std::int64_t> layers(static_cast<std::size_t>(dice.roll(1, 40)));
    for (std::int64_t& l : layers) l = dice.chance(60) ? 2 : dice.roll(0, 12);
    const Partition p = partition_of(layers, dice.roll(0, 5));
    const std::string text = to_layout(p);
    CHECK_MESSAGE(parse_layout(text) == p, text);
  }
}
