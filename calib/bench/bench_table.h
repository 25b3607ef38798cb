// The GPU benches: one file each, the same four functions (calib/protocol/op_case.h). A new one is a file with a
// factory, and a row in bench_table.cu.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calib/device/gpu_context.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

// The bench of a shape. Throws std::invalid_argument when there is none, DeviceError when the library has no kernel,
// NoFusedKernel (calib/bench/cudnn_attention.h) when cuDNN has none.
std::unique_ptr<OpCase> gpu_case(const GpuContext& gpu, const OpShape& shape);

// (op, kernel) of every bench but the collectives, in the order of the table.
std::vector<std::pair<std::string, std::string>> gpu_ops();

// Factories, one per file.
std::unique_ptr<OpCase> gemm_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> grouped_gemm_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> attention_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> flash_attention_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> norm_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> activation_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> copy_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> memcpy_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> permute_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> router_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> cast_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> embedding_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> loss_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> optimizer_gpu_case(const GpuContext& gpu, const OpShape& shape);
std::unique_ptr<OpCase> overlap_case(const GpuContext& gpu, const OpShape& shape);

} // namespace tessella::calib
