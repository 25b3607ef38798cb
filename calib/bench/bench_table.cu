#include <stdexcept>

#include "calib/bench/bench_table.h"

namespace tessella::calib {
namespace {

struct Row {
  const char* op;
  const char* kernel;
  std::unique_ptr<OpCase> (*make)(const GpuContext&, const OpShape&);
};

constexpr Row kRows[] = {
    {"gemm", "", gemm_case},
    {"gemm", "best", gemm_case},
    {"gemm_dgrad", "", gemm_case},
    {"gemm_wgrad", "", gemm_case},
    {"grouped_gemm", "", grouped_gemm_case},
    {"grouped_gemm_dgrad", "", grouped_gemm_case},
    {"grouped_gemm_wgrad", "", grouped_gemm_case},
    {"attention_fwd", "cudnn", flash_attention_case},
    {"attention_bwd", "cudnn", flash_attention_case},
    {"attention_fwd", "gemm+softmax", attention_gpu_case},
    {"attention_bwd", "gemm+softmax", attention_gpu_case},
    {"norm_fwd", "", norm_gpu_case},
    {"norm_bwd", "", norm_gpu_case},
    {"activation", "", activation_gpu_case},
    {"activation_bwd", "", activation_gpu_case},
    {"copy", "add", copy_gpu_case},
    {"copy", "rope", copy_gpu_case},
    {"memcpy", "device_to_device", memcpy_case},
    {"permute", "permute", permute_gpu_case},
    {"permute", "unpermute_bwd", permute_gpu_case},
    {"unpermute", "unpermute", permute_gpu_case},
    {"unpermute", "permute_bwd", permute_gpu_case},
    {"router", "topk", router_gpu_case},
    {"router", "topk_bwd", router_gpu_case},
    {"cast_fp8", "", cast_case},
    {"embedding", "lookup", embedding_gpu_case},
    {"embedding", "scatter_add", embedding_gpu_case},
    {"cross_entropy", "loss", loss_gpu_case},
    {"cross_entropy", "loss_bwd", loss_gpu_case},
    {"optimizer", "", optimizer_gpu_case},
    {"overlap", "gemm", overlap_case},
    {"overlap", "norm_fwd", overlap_case},
    {"overlap", "copy", overlap_case},
};

} // namespace

std::unique_ptr<OpCase> gpu_case(const GpuContext& gpu, const OpShape& shape) {
  for (const Row& row : kRows)
    if (shape.op == row.op && shape.kernel == row.kernel) return row.make(gpu, shape);
  throw std::invalid_argument("no GPU bench for " + shape.text());
}

std::vector<std::pair<std::string, std::string>> gpu_ops() {
  std::vector<std::pair<std::string, std::string>> ops;
  for (const Row& row : kRows) ops.emplace_back(row.op, row.kernel);
  return ops;
}

} // namespace tessella::calib
