// The GPU benches on a GPU: every one at a small, awkward shape, its result checked by the protocol. Without a GPU the
// test is skipped (exit code 77), not passed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "calib/device/machine.h"

using namespace tessella::calib;

namespace {

constexpr int kSkipped = 77;
std::string skipped; // why, if so

std::unique_ptr<Machine> machine() {
  try {
    return cuda_machine({});
  } catch (const NoDevice& none) {
    skipped = none.what();
    return nullptr;
  }
}

OpShape small_shape(const std::string& op, const std::string& kernel) {
  OpShape s{op, kernel, "", {}, 1};
  if (op.starts_with("gemm")) s.dims = {{"m", 272}, {"n", 144}, {"k", 208}};
  if (op.starts_with("grouped")) s.dims = {{"experts", 5}, {"tokens", 700}, {"in", 192}, {"out", 320}, {"skew", 50}};
  if (op.starts_with("attention"))
    s.dims = {{"batch", 2}, {"seq", 136}, {"heads", 8}, {"kv_heads", 2}, {"qk_dim", 64}, {"v_dim", 32}};
  if (op.starts_with("norm") || op.starts_with("activation")) s.dims = {{"rows", 301}, {"cols", 1032}};
  if (op == "copy") s.dims = {{"rows", 130}, {"cols", 192}, {"dim", 64}, {"seq", 65}};
  if (op == "memcpy") s.dims = {{"bytes", 1 << 20}};
  if (op == "permute" || op == "unpermute") s.dims = {{"tokens", 97}, {"topk", 3}, {"experts", 7}, {"cols", 520}};
  if (op == "router") s.dims = {{"tokens", 333}, {"topk", 6}, {"experts", 130}};
  if (op == "cast_fp8") s.dims = {{"rows", 77}, {"cols", 640}};
  if (op == "embedding") s.dims = {{"rows", 200}, {"cols", 264}, {"vocab", 90}};
  if (op == "cross_entropy") s.dims = {{"rows", 50}, {"vocab", 2000}};
  if (op == "optimizer") s.dims = {{"params", 100'004}};
  if (op == "overlap") {
    s.dims = kernel == "gemm" ? std::vector<std::pair<std::string, std::int64_t>>{{"m", 1024}, {"n", 1024}, {"k", 1024}}
                              : std::vector<std::pair<std::string, std::int64_t>>{{"rows", 4096}, {"cols", 2048}};
    s.dims.emplace_back("sms", 8);
    s.dims.emplace_back("gbps", 50);
  }
  return s;
}

MeasureOptions quick() {
  MeasureOptions o;
  o.stop.max_samples = 12;
  o.batch_seconds = 1e-4;
  o.throttled_share = 1.0;
  return o;
}

void check_ok(Machine& gpu, const OpShape& shape) {
  for (const RawRow& row : gpu.measure(shape, quick())) {
    if (row.status == RowStatus::unsupported) {
      std::printf("%s: %s\n", shape.text().c_str(), row.note.c_str());
      continue; // the rows of what was measured in its place are checked
    }
    CHECK_MESSAGE(row.status == RowStatus::ok, shape.text(), ": ", row.note);
    CHECK_MESSAGE(row.measurement.summary.median > 0.0, shape.text());
    CHECK_MESSAGE(row.work.bytes > 0.0, shape.text());
  }
}

} // namespace

TEST_CASE("A build with CUDA has the benches") {
#if TESSELLA_BUILT_WITH_CUDA
  CHECK(cuda_ops().size() > 20);
#else
  CHECK(cuda_ops().empty());
#endif
}

TEST_CASE("Every GPU bench computes what its reference says") {
  const std::unique_ptr<Machine> gpu = machine();
  if (!gpu) return;
  for (const auto& op : cuda_ops()) {
    std::string why;
    OpShape shape = small_shape(op.first, op.second);
    if (shape.dims.empty() || !gpu->can_measure(shape, why)) continue; // collectives
    if (op.first == "overlap") continue;
    shape.dtype = op.first == "cast_fp8" ? "fp8" : "bf16";
    check_ok(*gpu, shape);
    if (op.first.find("gemm") == std::string::npos) continue;
    shape.dtype = "fp8";
    check_ok(*gpu, shape);
  }
}

// Shapes of the models, not awkward ones: where cuDNN is, training attention is fused, or the note above says why not.
TEST_CASE("Fused attention of the models' shapes computes what its reference says, and is faster than with the scores "
          "in memory") {
  const std::unique_ptr<Machine> gpu = machine();
  if (!gpu) return;
  for (const char* op : {"attention_fwd", "attention_bwd"}) {
    OpShape shape{op,
                  "cudnn",
                  "bf16",
                  {{"batch", 1}, {"seq", 4096}, {"heads", 64}, {"kv_heads", 4}, {"qk_dim", 128}, {"v_dim", 128}},
                  1};
    const std::vector<RawRow> fused = gpu->measure(shape, quick());
    check_ok(*gpu, shape);
    if (fused.back().status == RowStatus::unsupported) continue;
    shape.kernel = "gemm+softmax";
    const std::vector<RawRow> plain = gpu->measure(shape, quick());
    CHECK(fused.front().measurement.summary.median < plain.front().measurement.summary.median);
  }
}

TEST_CASE("A kernel beside a stand-in for communication is not faster than alone") {
  const std::unique_ptr<Machine> gpu = machine();
  if (!gpu) return;
  for (const char* kernel : {"gemm", "norm_fwd", "copy"}) {
    OpShape shape = small_shape("overlap", kernel);
    shape.dtype = "bf16";
    const double beside = gpu->measure(shape, quick()).front().measurement.summary.median;
    for (auto& [name, value] : shape.dims)
      if (name == "sms" || name == "gbps") value = 0;
    const double alone = gpu->measure(shape, quick()).front().measurement.summary.median;
    CHECK_MESSAGE(beside > 0.97 * alone, kernel, ": ", beside, " s, alone ", alone, " s");
  }
}

TEST_CASE("More than fits into memory is a row, and the next case goes on") {
  const std::unique_ptr<Machine> gpu = machine();
  if (!gpu) return;
  const OpShape huge{"norm_fwd", "", "", {{"rows", std::int64_t{1} << 30}, {"cols", 4096}}, 1};
  const auto rows = gpu->measure(huge, quick());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].status == RowStatus::out_of_memory);
  check_ok(*gpu, small_shape("norm_fwd", ""));
}

TEST_CASE("A large copy reaches most of the memory's rate, and a large GEMM most of the peak") {
  const std::unique_ptr<Machine> gpu = machine();
  if (!gpu) return;
  const auto copy = gpu->measure({"memcpy", "device_to_device", "", {{"bytes", std::int64_t{1} << 30}}, 1}, quick());
  CHECK(copy[0].work.bytes / copy[0].measurement.summary.median > 1.2e12); // the slowest Hopper has 2e12
  const auto gemm = gpu->measure({"gemm", "", "bf16", {{"m", 8192}, {"n", 8192}, {"k", 8192}}, 1}, quick());
  CHECK(gemm[0].work.flops / gemm[0].measurement.summary.median > 3e14);
  const auto best = gpu->measure({"gemm", "best", "bf16", {{"m", 8192}, {"n", 8192}, {"k", 8192}}, 1}, quick());
  CHECK(gemm[0].measurement.summary.median < best[0].measurement.summary.median / 0.9);
}

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (status == 0 && !skipped.empty()) {
    std::printf("skipped: %s\n", skipped.c_str());
    return kSkipped;
  }
  return status;
}
