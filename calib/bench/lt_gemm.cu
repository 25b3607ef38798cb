#include <algorithm>
#include <string>
#include <utility>

#include "calib/bench/elements.cuh"
#include "calib/bench/lt_gemm.h"
#include "calib/bench/samples.h"

namespace tessella::calib {
namespace {

cudaDataType_t data_type(Element e) {
  switch (e) {
  case Element::bf16:
    return CUDA_R_16BF;
  case Element::e4m3:
    return CUDA_R_8F_E4M3;
  case Element::f32:
    break;
  }
  return CUDA_R_32F;
}

template <class Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  CALIB_CUDA(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
}

// A row-major matrix [rows, cols] is the column-major one [cols, rows].
cublasLtMatrixLayout_t layout(Element type, std::int64_t rows, std::int64_t cols, std::int64_t batch) {
  cublasLtMatrixLayout_t l = nullptr;
  CALIB_CUDA(cublasLtMatrixLayoutCreate(&l, data_type(type), static_cast<std::uint64_t>(cols),
                                        static_cast<std::uint64_t>(rows), cols));
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * cols;
    CALIB_CUDA(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    CALIB_CUDA(
        cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  }
  return l;
}

__global__ void gemm_samples(GemmSpec s, const void* a, const void* b, const void* d, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample >= kSamples) return;
  const std::int64_t element = sampled_element(sample, s.m * s.n);
  const std::int64_t i = element / s.n;
  const std::int64_t j = element % s.n;
  double sum = 0.0;
  for (std::int64_t l = 0; l < s.k; ++l) {
    const std::int64_t ai = s.a_transposed ? l * s.m + i : i * s.k + l;
    const std::int64_t bi = s.b_transposed ? j * s.k + l : l * s.n + j;
    sum += static_cast<double>(load_element(a, s.in, ai)) * static_cast<double>(load_element(b, s.in, bi));
  }
  got[sample] = static_cast<double>(load_element(d, s.out, element));
  expected[sample] = static_cast<double>(s.scale) * sum;
}

} // namespace

GemmSpec gemm_spec(const std::string& op, const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmSpec s;
  s.m = m;
  s.n = n;
  s.k = k;
  const bool wgrad = op.find("_wgrad") != std::string::npos;
  const bool dgrad = op.find("_dgrad") != std::string::npos;
  if (wgrad) {
    s.out = Element::f32;
    s.accumulate = true;
  }
  if (dtype == "fp8") {
    s.in = Element::e4m3;
    s.b_transposed = true;
    return s;
  }
  s.a_transposed = wgrad;
  s.b_transposed = !wgrad && !dgrad;
  return s;
}

LtGemm::LtGemm(const GpuContext& gpu, const GemmSpec& s, int candidates) : gpu_(&gpu), spec_(s) {
  CALIB_CUDA(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  // D^T = B^T A^T: the library's first operand is B, its second A.
  const cublasOperation_t first = s.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = s.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, second);
  if (s.in == Element::e4m3) {
    one_ = DeviceMemory(sizeof(float));
    const float one = 1.0F;
    CALIB_CUDA(cudaMemcpyAsync(one_.get(), &one, sizeof one, cudaMemcpyHostToDevice, gpu.stream().get()));
    gpu.stream().wait();
    const void* scale = one_.get();
    set(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
    set(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
    const std::int8_t fast = s.accumulate ? 0 : 1; // as frameworks do: exact accumulation in the backward pass
    set(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  }
  a_ = s.b_transposed ? layout(s.in, s.n, s.k, s.batch) : layout(s.in, s.k, s.n, s.batch);
  b_ = s.a_transposed ? layout(s.in, s.k, s.m, s.batch) : layout(s.in, s.m, s.k, s.batch);
  d_ = layout(s.out, s.m, s.n, s.batch);
  cublasLtMatmulPreference_t preference = nullptr;
  CALIB_CUDA(cublasLtMatmulPreferenceCreate(&preference));
  const std::size_t workspace = gpu.workspace_bytes();
  std::array<cublasLtMatmulHeuristicResult_t, 32> found{};
  const int most = std::min(candidates, static_cast<int>(found.size()));
  int count = 0;
  cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                               &workspace, sizeof workspace);
  if (status == CUBLAS_STATUS_SUCCESS)
    status =
        cublasLtMatmulAlgoGetHeuristic(gpu.blas(), operation_, a_, b_, d_, d_, preference, most, found.data(), &count);
  CALIB_CUDA_NOEXCEPT(cublasLtMatmulPreferenceDestroy(preference));
  CALIB_CUDA(status);
  for (int i = 0; i < count; ++i)
    if (found[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
      algorithms_[found_++] = found[static_cast<std::size_t>(i)].algo;
  if (found_ == 0) throw DeviceError("cuBLASLt has no kernel for this product");
}

LtGemm::~LtGemm() {
  if (operation_ == nullptr) return;
  CALIB_CUDA_NOEXCEPT(cublasLtMatrixLayoutDestroy(d_));
  CALIB_CUDA_NOEXCEPT(cublasLtMatrixLayoutDestroy(b_));
  CALIB_CUDA_NOEXCEPT(cublasLtMatrixLayoutDestroy(a_));
  CALIB_CUDA_NOEXCEPT(cublasLtMatmulDescDestroy(operation_));
}

LtGemm::LtGemm(LtGemm&& other) noexcept
    : gpu_(other.gpu_), spec_(other.spec_), one_(std::move(other.one_)),
      operation_(std::exchange(other.operation_, nullptr)), a_(other.a_), b_(other.b_), d_(other.d_),
      algorithms_(other.algorithms_), found_(other.found_), chosen_(other.chosen_) {}

void LtGemm::run(const void* a, const void* b, void* d, cudaStream_t stream, void* workspace) const {
  const float beta = spec_.accumulate ? 1.0F : 0.0F;
  CALIB_CUDA(cublasLtMatmul(gpu_->blas(), operation_, &spec_.scale, b, a_, a, b_, &beta, d, d_, d, d_,
                            &algorithms_[chosen_], workspace, gpu_->workspace_bytes(), stream));
}

double gemm_error(const GpuContext& gpu, const GemmSpec& s, const void* a, const void* b, const void* d) {
  const SampleBuffer samples;
  gemm_samples<<<(kSamples + 63) / 64, 64, 0, gpu.stream().get()>>>(s, a, b, d, samples.got(), samples.expected());
  CALIB_LAUNCHED(gemm_samples);
  return samples.error(gpu.stream());
}

} // namespace tessella::calib
