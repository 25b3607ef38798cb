// Imports: small excerpts in the tools' formats, with what must be understood and what must be listed as dropped.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "calib/import/deepep.h"
#include "calib/import/imported.h"
#include "calib/import/kineto.h"
#include "calib/import/nccl_tests.h"
#include "calib/import/train_log.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

const char* const kTable = R"(# nccl-tests version 2.17 nccl-headers=22700 nccl-library=22700
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on node-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on node-b device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    31.05    0.00    0.00      0    30.24    0.00    0.00      0
    67108864      16777216     float     sum      -1   560.10  119.82  119.82      0   559.00  120.05  120.05      0
   134217728      33554432     float     sum      -1  1100.00  122.00  122.00      3  1100.00  122.00  122.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 40.1
)";

// A trace of two streams: compute 0-10 us and 20-30 us, communication 5-25 us.
const char* const kTrace = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
"traceEvents": [
 {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 3, "args": {"ts": 77}},
 {"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm_bf16", "pid": 0, "tid": 7, "ts": 100, "dur": 10,
  "args": {"stream": 7, "dur": 99}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "ts": 105, "dur": 20},
 {"ph": "X", "cat": "kernel", "name": "flash::flash_fwd_kernel", "ts": 120, "dur": 10},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 140, "dur": 5},
 {"ph": "X", "cat": "kernel", "name": "mystery", "ts": 150, "dur": 1.5}
], "traceName": "x"})";

std::string temporary(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / name;
  write_file(path.string(), text);
  return path.string();
}

const ClassTime& of(const TraceSummary& s, KernelClass c) {
  return s.classes[static_cast<std::size_t>(c)];
}

} // namespace

TEST_CASE("A table of nccl-tests: out of place, ranks and hosts counted, wrong rows dropped") {
  const Imported imported = import_nccl_tests("log", kTable, "");
  REQUIRE(imported.rows.size() == 2);
  const RawRow& row = imported.rows[1];
  CHECK(row.shape.op == "all_reduce");
  CHECK(row.shape.ranks == 2);
  CHECK(row.shape.dim("bytes") == 67108864);
  CHECK(row.shape.dim("nodes") == 2);
  CHECK(row.measurement.summary.median == doctest::Approx(560.10e-6));
  CHECK(imported.dropped.at("rows with wrong elements") == 1);
  CHECK(imported.dropped.at("in-place results") == 3);
}

TEST_CASE("Its JSON says the same") {
  const std::string json = R"({"version": 2, "args": ["/opt/build/alltoall_perf", "-b", "8"], "nccl_version": 22700,
    "config": {"ngpus": 1, "devices": [
      {"rank": 0, "group": 0, "pid": 1, "hostname": "a", "device": 0, "device_info": "NVIDIA H200"},
      {"rank": 1, "group": 0, "pid": 2, "hostname": "a", "device": 1, "device_info": "NVIDIA H200"}]},
    "results": [
      {"size": 1024, "count": 256, "type": "float", "redop": "none", "root": "    -1",
       "out_of_place": {"time": 12.5, "alg_bw": 0.08, "bus_bw": 0.04, "nwrong": 0.0},
       "in_place": {"time": 13.0, "alg_bw": 0.08, "bus_bw": 0.04, "nwrong": null}},
      {"size": 2048, "count": 512, "type": "float", "redop": "none", "root": "-1", "out_of_place": null}]})";
  const Imported imported = import_nccl_tests("log.json", json, "");
  REQUIRE(imported.rows.size() == 1);
  CHECK(imported.rows[0].shape.op == "all_to_all");
  CHECK(imported.rows[0].shape.ranks == 2);
  CHECK(imported.rows[0].shape.dim("nodes") == 1);
  CHECK(imported.rows[0].measurement.summary.median == doctest::Approx(12.5e-6));
  CHECK(imported.dropped.at("rows without an out-of-place result") == 1);
}

TEST_CASE("What is not nccl-tests' output is refused") {
  CHECK_THROWS_WITH_AS(import_nccl_tests("x", "hello\n1 2 3\n", ""), doctest::Contains("--op"), InputError);
  CHECK_THROWS_WITH_AS(import_nccl_tests("x", "hello\n", "all_reduce"), doctest::Contains("two ranks"), InputError);
  CHECK_THROWS_AS(import_nccl_tests("x", "{\"args\": [\"all_reduce_perf\"]", ""), InputError);
  CHECK_THROWS_AS(import_nccl_tests("x", "", ""), InputError);
}

TEST_CASE("DeepEP's best lines in its three spellings") {
  const std::string text =
      "[tuning] SMs 24, NVL chunk 4: 341.97 GB/s (NVL)\n"
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 28, RDMA chunk 8: 45 + 1156 us, 58.42 GB/s (RDMA), 190.69 GB/s "
      "(NVL)\n"
      "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 32, 154.10 GB/s (NVL), t: 613.20 us\n"
      "[tuning] Best combine: SMs 20, NVL chunk 16, transmit: 2100.50 us, notify: 30.25 us, BW: 50.00 GB/s (RDMA), "
      "163.00 GB/s (NVL)\n"
      "[tuning] Best combine: SMs 24, NVL chunk 16: 36.64 GB/s (NVL)\n";
  const Imported imported = import_deepep("log", text, {16, 4096, 7168, 8});
  REQUIRE(imported.rows.size() == 3);
  CHECK(imported.rows[0].shape.op == "dispatch_deepep");
  CHECK(imported.rows[0].shape.dtype == "fp8");
  CHECK(imported.rows[0].shape.ranks == 16);
  CHECK(imported.rows[0].shape.dim("sms") == 24);
  CHECK(imported.rows[0].measurement.summary.median == doctest::Approx(1156e-6));
  CHECK(imported.rows[0].note == "58.42 GB/s RDMA 190.69 GB/s NVLink notify 45 us");
  CHECK(imported.rows[1].shape.dtype == "bf16");
  CHECK(imported.rows[1].measurement.summary.median == doctest::Approx(613.20e-6));
  CHECK(imported.rows[2].shape.op == "combine_deepep");
  CHECK(imported.rows[2].shape.dim("sms") == 20);
  CHECK(imported.rows[2].measurement.summary.median == doctest::Approx(2100.50e-6));
  CHECK(imported.dropped.at("lines with a bandwidth but no time") == 1);
  CHECK(imported.dropped.at("tuning lines that were not the best") == 1);
  CHECK_THROWS_AS(import_deepep("log", "nothing here\n", {}), InputError);
}

TEST_CASE("A profiler trace: classes, overlap and exposed communication by hand") {
  const TraceSummary s = import_kineto(temporary("tessella_kineto_test.json", kTrace));
  CHECK(of(s, KernelClass::gemm).seconds == doctest::Approx(10e-6));
  CHECK(of(s, KernelClass::attention).kernels == 1);
  CHECK(of(s, KernelClass::expert_communication).seconds == doctest::Approx(20e-6));
  CHECK(of(s, KernelClass::expert_communication).alone == doctest::Approx(10e-6)); // 110 .. 120
  CHECK(of(s, KernelClass::gemm).alone == doctest::Approx(5e-6));                  // 100 .. 105
  CHECK(of(s, KernelClass::copy).kernels == 1);
  CHECK(s.span == doctest::Approx(51.5e-6));
  CHECK(s.compute_busy == doctest::Approx(26.5e-6));
  CHECK(s.communication_busy == doctest::Approx(20e-6));
  CHECK(s.exposed == doctest::Approx(10e-6));
  CHECK(s.idle == doctest::Approx(15e-6)); // 130 .. 140 and 145 .. 150
  CHECK(s.other_kernels.at("mystery") == doctest::Approx(1.5e-6));
  CHECK(s.dropped.at("events without a duration") == 1);
  CHECK(s.dropped.at("events of the CPU and annotations") == 1);
  CHECK(to_csv(s).find("expert_communication,1,2e-05,1e-05") != std::string::npos);
}

TEST_CASE("Traces that are none are refused with the place") {
  CHECK_THROWS_WITH_AS(import_kineto(temporary("tessella_kineto_test.json", "{\"traceEvents\": [{\"ph\": ")),
                       doctest::Contains("byte"), InputError);
  CHECK_THROWS_WITH_AS(import_kineto(temporary("tessella_kineto_test.json", "{\"traceEvents\": []}")),
                       doctest::Contains("no GPU kernel"), InputError);
  CHECK_THROWS_AS(import_kineto("/nonexistent"), InputError);
}

TEST_CASE("Kernel names that contain other words go to the right class") {
  CHECK(class_of("ncclDevKernel_AllGather_RING_LL") == KernelClass::collective);
  CHECK(class_of("void deep_ep::internode::cached_notify<...>") == KernelClass::waiting);
  CHECK(class_of("dpsk::ep::internode::dispatch") == KernelClass::expert_communication);
  CHECK(class_of("nvjet_tst_128x256_64x4_bias_TNT") == KernelClass::gemm);
  CHECK(class_of("void at::native::vectorized_elementwise_kernel<...SiluFunctor>") == KernelClass::activation);
  CHECK(class_of("layer_norm::ln_bwd_kernel") == KernelClass::norm);
  CHECK(class_of("multi_tensor_apply_kernel<AdamFunctor>") == KernelClass::optimizer);
  for (int c = 0; c < kKernelClasses; ++c) CHECK(std::string(name(static_cast<KernelClass>(c))).size() > 2);
}

TEST_CASE("Megatron's log lines: the median after the warm-up") {
  std::string text = "some banner\n";
  for (int i = 1; i <= 7; ++i)
    text += " [2026-04-27 00:00:01] iteration        " + std::to_string(i) +
            "/       9 | consumed samples:         1024 | elapsed time per iteration (ms): " +
            (i <= 2 ? "90000.0" : "190" + std::to_string(i) + "0.0") +
            " | throughput per GPU (TFLOP/s/GPU): 245.3 | learning rate: 1.0E-04 | global batch size:  2048 | lm loss: "
            "3.0E+00 |\n";
  const TrainingRun run = import_training_log("log", text, 2);
  CHECK(run.framework == "Megatron-LM");
  CHECK(run.step.n == 5);
  CHECK(run.step.median == doctest::Approx(19.05)); // 19,030 to 19,070 ms
  CHECK(run.tflops_per_gpu.median == doctest::Approx(245.3));
  CHECK(run.global_batch_size == 2048);
  CHECK(run.dropped.at("lines without a step's time") == 1);
  CHECK(run.dropped.at("steps of the warm-up") == 2);
  CHECK(to_validation_csv(run, "mine").find("\nmine,own,partial,,,,,,,,,2048,") != std::string::npos);
}

TEST_CASE("torchtitan's lines, with colours and thousands") {
  const std::string text =
      "[titan] 2026-01-01 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.0  \x1b[34mtps: 1,234  "
      "\x1b[36mtflops: 71.23  \x1b[35mmfu: 7.20%\x1b[39m\n"
      "[titan] step:  2  loss: 7.9  tps: 5,432  tflops: 310.00  mfu: 31.3%\n"
      "[titan] step:  3  loss: 7.8  tps: 5,434  tflops: 310.50  mfu: 31.4%\n";
  const TrainingRun run = import_training_log("log", text, 1);
  CHECK(run.framework == "torchtitan");
  CHECK(run.tokens_per_s_per_gpu.median == doctest::Approx(5433.0));
  CHECK(run.tflops_per_gpu.median == doctest::Approx(310.25));
  CHECK_THROWS_AS(import_training_log("log", "no steps\n", 1), InputError);
}
