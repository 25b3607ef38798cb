// Stands in for cudnn_attention.cpp where there are no headers of cuDNN.
#include "calib/bench/cudnn_attention.h"

namespace tessella::calib {
namespace {

constexpr const char* kWhy = "this program was built without cuDNN's headers";

} // namespace

struct CudnnAttention::Plan {};

CudnnAttention::CudnnAttention(const SoftmaxDims&, AttentionPass, CUstream_st*) {
  throw NoFusedKernel(kWhy);
}
CudnnAttention::CudnnAttention(const SoftmaxDims&, AttentionPass, const std::string&) {
  throw NoFusedKernel(kWhy);
}
CudnnAttention::~CudnnAttention() = default;
CudnnAttention::CudnnAttention(CudnnAttention&&) noexcept = default;

std::size_t CudnnAttention::workspace_bytes() const {
  return 0;
}
void CudnnAttention::run(const AttentionBuffers&, void*) const {
  throw NoFusedKernel(kWhy);
}

std::string fused_attention_text() {
  return std::string("gemm+softmax: ") + kWhy;
}

} // namespace tessella::calib
