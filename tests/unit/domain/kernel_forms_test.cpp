// The forms against pencil arithmetic: round parameters, one SM = 1 TFLOP/s, HBM so fast that it does not count.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

using namespace tessella;

namespace {

constexpr double kFree = 1e30; // bytes/s of a memory that never binds

ProfileEntry gemm_entry(double hbm = kFree) {
  return {"gemm",
          "bf16",
          "",
          "gemm_tiles",
          {{"peak", 132e12}, {"launch", 1e-6}, {"hbm", hbm}, {"sms", 132.0}, {"k_half", 0.0}, {"tile_half", 0.0}},
          Provenance::assumed,
          "pencil",
          {}};
}

ProfileEntry attention_entry(double qk_matmuls, double v_matmuls) {
  return {"attention_fwd",
          "bf16",
          "",
          "attention_rate",
          {{"peak", 132e12},
           {"launch", 1e-6},
           {"hbm", kFree},
           {"sms", 132.0},
           {"qk_matmuls", qk_matmuls},
           {"v_matmuls", v_matmuls},
           {"kv_half", 0.0},
           {"dim_half", 0.0},
           {"bytes_factor", 1.0}},
          Provenance::assumed,
          "pencil",
          {}};
}

ProfileEntry collective_entry() {
  return {"all_gather",
          "",
          "node",
          "collective",
          {{"latency", 10e-6}, {"latency_per_rank", 1e-6}, {"efficiency", 0.5}, {"half_size", 1e6}},
          Provenance::assumed,
          "pencil",
          {}};
}

void with(ProfileEntry& e, const std::string& key, double value) {
  for (auto& [name, v] : e.params) {
    if (name == key) {
      v = value;
      return;
    }
  }
  e.params.emplace_back(key, value);
}

} // namespace

TEST_CASE("gemm: one wave of the smallest tile") {
  // 4 x 2 tiles of 64 x 64 on 132 SMs: one wave of 2*64*64*1000 FLOPs at 1 TFLOP/s = 8.192 us.
  CHECK(gemm_seconds(gemm_entry(), {256, 128, 1000}) == doctest::Approx(1e-6 + 8.192e-6));
}

TEST_CASE("gemm: one row more is one wave more") {
  // 132 tiles of 64 x 64 fill the GPU; the 133rd runs alone (or 67 tiles of 128 x 64, each twice as long).
  CHECK(gemm_seconds(gemm_entry(), {64 * 132, 64, 1000}) == doctest::Approx(1e-6 + 8.192e-6));
  CHECK(gemm_seconds(gemm_entry(), {64 * 132 + 1, 64, 1000}) == doctest::Approx(1e-6 + 16.384e-6));
}

TEST_CASE("gemm: fewer SMs, more waves") {
  // 8 tiles of 64 x 64 on 4 SMs: two waves.
  CHECK(gemm_seconds(gemm_entry(), {256, 128, 1000}, 4) == doctest::Approx(1e-6 + 16.384e-6));
}

TEST_CASE("gemm: prologue, reuse and default tile") {
  ProfileEntry e = gemm_entry();
  with(e, "k_half", 1000.0); // as long again
  CHECK(gemm_seconds(e, {256, 128, 1000}) == doctest::Approx(1e-6 + 16.384e-6));
  with(e, "k_half", 0.0);
  with(e, "tile_half", 32.0); // 64 x 64 reuses 32 times: half the rate
  CHECK(gemm_seconds(e, {64, 64, 1000}) == doctest::Approx(1e-6 + 16.384e-6));
  with(e, "tile_half", 0.0);
  with(e, "pick", 1.0); // always 256 x 128, padded: 65.536 us
  CHECK(gemm_seconds(e, {64, 64, 1000}) == doctest::Approx(1e-6 + 65.536e-6));
  with(e, "pick", 0.25);
  CHECK(gemm_seconds(e, {64, 64, 1000}) == doctest::Approx(1e-6 + 0.75 * 8.192e-6 + 0.25 * 65.536e-6));
}

TEST_CASE("gemm: memory roof") {
  // 2 B * (1000*64 + 64*64) in, 2 B * 1000*64 out = 264,192 B at 1 GB/s.
  CHECK(gemm_seconds(gemm_entry(1e9), {1000, 64, 64}) == doctest::Approx(1e-6 + 264.192e-6));
  ProfileEntry smooth = gemm_entry(1e9);
  with(smooth, "roof", 2.0); // compute: 16 tiles, one wave of 0.524288 us
  CHECK(gemm_seconds(smooth, {1000, 64, 64}) == doctest::Approx(1e-6 + std::hypot(264.192e-6, 0.524288e-6)));
}

TEST_CASE("grouped gemm: experts are padded one by one") {
  const GemmShape shape{0, 64, 1000};
  const std::vector<std::int64_t> even(132, 64);
  CHECK(grouped_gemm_seconds(gemm_entry(), even, shape) == doctest::Approx(1e-6 + 8.192e-6));
  std::vector<std::int64_t> uneven = even; // the same total: one expert spills over into a second tile
  uneven[0] = 65;
  uneven[1] = 63;
  CHECK(grouped_gemm_seconds(gemm_entry(), uneven, shape) == doctest::Approx(1e-6 + 16.384e-6));
  std::vector<std::int64_t> idle = even;
  idle.push_back(0);
  CHECK(grouped_gemm_seconds(gemm_entry(), idle, shape) == doctest::Approx(1e-6 + 8.192e-6));
  CHECK(grouped_gemm_seconds(gemm_entry(), std::vector<std::int64_t>{0, 0}, shape) == 0.0);
}

TEST_CASE("grouped gemm: weights of active experts only") {
  // Two experts of one token: 2 B * (2*64 + 2*64*64) in, 2 B * 2*64 out = 16,896 B at 1 GB/s.
  const std::vector<std::int64_t> tokens = {1, 0, 1};
  CHECK(grouped_gemm_seconds(gemm_entry(1e9), tokens, {0, 64, 64}) == doctest::Approx(1e-6 + 16.896e-6));
}

TEST_CASE("grouped gemm: one expert is a gemm") {
  const std::vector<std::int64_t> tokens = {777};
  const double dense = gemm_seconds(gemm_entry(3e12), {777, 512, 2048});
  CHECK(grouped_gemm_seconds(gemm_entry(3e12), tokens, {0, 512, 2048}) == doctest::Approx(dense));
}

TEST_CASE("grouped wgrad: tokens are the depth, outputs cost memory") {
  // Two experts, 64 x 64 outputs, depths 600 and 1400: one wave as long as the deeper one, 11.4688 us.
  const std::vector<std::int64_t> tokens = {600, 0, 1400};
  CHECK(grouped_wgrad_seconds(gemm_entry(), tokens, {64, 64, 0}) == doctest::Approx(1e-6 + 11.4688e-6));
  // On one SM one after the other.
  CHECK(grouped_wgrad_seconds(gemm_entry(), tokens, {64, 64, 0}, 1) == doctest::Approx(1e-6 + 16.384e-6));
  // fp32 accumulation: 8 B * 2*64*64 out, 2 B * 2000*128 in = 577,536 B at 1 GB/s.
  CHECK(grouped_wgrad_seconds(gemm_entry(1e9), tokens, {64, 64, 0, 2.0, 8.0}) == doctest::Approx(1e-6 + 577.536e-6));
  CHECK(grouped_wgrad_seconds(gemm_entry(), std::vector<std::int64_t>{0}, {64, 64, 0}) == 0.0);
}

TEST_CASE("attention: a block per SM") {
  // 132 heads of one 128 x 128 block, 2*(64+64) FLOPs per pair = 4.194304 us.
  AttentionShape s{1, 128, 128, 132, 132, 64, 64, false, 0};
  CHECK(attention_seconds(attention_entry(1, 1), s) == doctest::Approx(1e-6 + 4.194304e-6));
  s.heads = 1; // one SM works, as long as before
  CHECK(attention_seconds(attention_entry(1, 1), s) == doctest::Approx(1e-6 + 4.194304e-6));
  // Backward: 3 products over the query-key size and 2 over the value size, 2.5 times as many.
  CHECK(attention_seconds(attention_entry(3, 2), s) == doctest::Approx(1e-6 + 2.5 * 4.194304e-6));
}

TEST_CASE("attention: causal halves, the diagonal costs half a tile, a window bounds") {
  const double pair = 2.0 * 256.0 / 1e12; // seconds on one SM, heads of 128
  AttentionShape s{1, 8192, 8192, 132, 132, 128, 128, true, 0};
  CHECK(attention_seconds(attention_entry(1, 1), s) ==
        doctest::Approx(1e-6 + pair * (8192.0 * 8193.0 / 2.0 + 8192.0 * 64.0)));
  s.window = 1024; // 1024 rows grow to it, the others see 1024 keys
  CHECK(attention_seconds(attention_entry(1, 1), s) ==
        doctest::Approx(1e-6 + pair * (1024.0 * 1025.0 / 2.0 + 7168.0 * 1024.0 + 8192.0 * 64.0)));
  s.window = 0;
  s.seq_q = 4096; // the second half of a sequence split in two
  CHECK(attention_seconds(attention_entry(1, 1), s) ==
        doctest::Approx(1e-6 + pair * (4096.0 * 4096.0 + 4096.0 * 4097.0 / 2.0 + 4096.0 * 64.0)));
}

TEST_CASE("attention: MLA counts its two head sizes") {
  const AttentionShape s{1, 128, 128, 132, 132, 192, 128, false, 0};
  CHECK(attention_seconds(attention_entry(1, 1), s) == doctest::Approx(1e-6 + 2.0 * 320.0 * 128.0 * 128.0 / 1e12));
  CHECK(attention_seconds(attention_entry(3, 2), s) == doctest::Approx(1e-6 + 2.0 * 832.0 * 128.0 * 128.0 / 1e12));
}

TEST_CASE("gated delta rule: work and the chain of chunks") {
  const ProfileEntry e{"gdn_fwd",
                       "bf16",
                       "",
                       "gdn_rate",
                       {{"peak", 1e12}, {"launch", 1e-6}, {"sms", 8.0}, {"chunk", 64.0}, {"chunk_latency", 1e-6}},
                       Provenance::assumed,
                       "pencil",
                       {}};
  // 2 * 128 * 4 * (3*128*128 + 64*5*128) = 92,274,688 FLOPs; 2 chunks; 4 heads of 2 blocks fill the 8 SMs once.
  const GdnShape s{1, 128, 2, 4, 128, 128};
  CHECK(gdn_flops(s, 64.0) == 92274688.0);
  CHECK(gdn_seconds(e, s) == doctest::Approx(1e-6 + 92.274688e-6 + 2e-6));
  const GdnShape twice{2, 128, 2, 4, 128, 128}; // two waves
  CHECK(gdn_seconds(e, twice) == doctest::Approx(1e-6 + 2.0 * 92.274688e-6 + 4e-6));
}

TEST_CASE("state space duality: products in chunks, and the states between them") {
  const ProfileEntry e{"ssd_fwd",
                       "bf16",
                       "",
                       "ssd_rate",
                       {{"peak", 1e12}, {"launch", 1e-6}, {"hbm", 1e12}, {"state_passes", 4.0}},
                       Provenance::assumed,
                       "pencil",
                       {}};
  // 256 tokens: C B^T of 2 groups 64*16, per head of 4: 64*8 inside and 2*16*8 through the state, times 2 * 256;
  // 4 chunks of 4 heads of 8 x 16 fp32.
  const SsdShape s{1, 256, 4, 8, 2, 16, 64};
  CHECK(ssd_flops(s) == 512.0 * (2 * 1024 + 4 * (512 + 256)));
  CHECK(ssd_state_bytes(s) == 4.0 * 4 * 4 * 128);
  CHECK(ssd_seconds(e, s) == doctest::Approx(1e-6 + 512.0 * 5120 * 1e-12 + 4 * 8192e-12));
  SsdShape odd = s; // a chunk that is not full passes a whole state
  odd.seq = 257;
  CHECK(ssd_state_bytes(odd) == 5.0 / 4.0 * ssd_state_bytes(s));
  // Twice the sequence is twice the work: nothing here is quadratic.
  SsdShape twice = s;
  twice.seq = 512;
  CHECK(ssd_seconds(e, twice) - 1e-6 == doctest::Approx(2.0 * (ssd_seconds(e, s) - 1e-6)));
  CHECK(ssd_seconds(e, {}) == 0.0);
}

TEST_CASE("stream, constant, factor") {
  const ProfileEntry stream{"copy", "", "", "stream", {{"launch", 2e-6}, {"bandwidth", 1e12}}, Provenance::assumed,
                            "",     {}};
  CHECK(stream_seconds(stream, 3e6) == doctest::Approx(5e-6));
  const ProfileEntry constant{"launch", "", "", "constant", {{"seconds", 7e-6}}, Provenance::assumed, "", {}};
  CHECK(constant_seconds(constant) == 7e-6);
  const ProfileEntry factor{"sustained", "", "", "factor", {{"factor", 0.85}}, Provenance::assumed, "", {}};
  CHECK(factor_value(factor) == 0.85);
}

TEST_CASE("collective: alpha, beta, start-up, pairs") {
  ProfileEntry e = collective_entry();
  // 10 us + 7 us + (1e8 + 1e6) B at 50 GB/s.
  CHECK(collective_seconds(e, 8, 1e8, {100e9}) == doctest::Approx(17e-6 + 101e6 / 50e9));
  CHECK(collective_seconds(e, 8, 0.0, {100e9}) == doctest::Approx(17e-6));
  CHECK(collective_seconds(e, 1, 1e8, {100e9}) == 0.0);
  with(e, "onset", 1e8); // half of the start-up is paid
  CHECK(collective_seconds(e, 8, 1e8, {100e9}) == doctest::Approx(17e-6 + 100.5e6 / 50e9));
  with(e, "pair_loss", 0.3);
  CHECK(collective_seconds(e, 2, 1e8, {100e9}) == doctest::Approx(11e-6 + 100.5e6 / 35e9));
  CHECK(collective_seconds(e, 4, 1e8, {100e9}) == doctest::Approx(13e-6 + 100.5e6 / 45e9));
}

TEST_CASE("uniform stage and contention") {
  ProfileEntry u{"uniform_stage",     "", "", "uniform_stage", {{"forward", 1e-3}, {"backward", 2e-3}},
                 Provenance::assumed, "", {}};
  CHECK(uniform_stage(u).backward == 2e-3);
  CHECK(uniform_stage(u).input_grad == 0.0);
  with(u, "message", 64.0);
  CHECK(uniform_stage(u).message == 64.0);
  const ProfileEntry c{"contention",
                       "",
                       "",
                       "contention",
                       {{"gemm", 1.05}, {"membound", 1.1}, {"norm", 1.6}, {"waiting", 1.08}, {"communication", 1.3}},
                       Provenance::assumed,
                       "",
                       {}};
  CHECK(contention_factors(c).norm == 1.6);
  CHECK(contention_factors(c).communication == 1.3);
}

TEST_CASE("a missing parameter names the entry") {
  ProfileEntry e = collective_entry();
  e.params.erase(e.params.begin() + 2);
  try {
    collective_seconds(e, 8, 1.0, {1e9});
    FAIL("no exception");
  } catch (const NotCovered& error) {
    REQUIRE(error.missing().size() == 1);
    CHECK(error.missing()[0] == "all_gather node (form collective): parameter `efficiency`");
  }
}
