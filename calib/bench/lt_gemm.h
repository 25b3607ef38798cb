// One matrix product through cuBLASLt, on row-major matrices:
//   D[m, n] (+)= A[m, k] B[k, n]
// where A may be stored transposed ([k, m]) and B too ([n, k]). Layouts of a linear layer's passes over x[tokens, in],
// w[out, in]:
//   forward  y = x w^T    A = x,            B = w stored [n, k]
//   dgrad    dx = dy w    A = dy,           B = w stored [k, n]
//   wgrad    dw += dy^T x A = dy stored [k, m], B = x
// fp8 needs every product in the forward's layout ("TN"), so its other passes read copies that are stored transposed,
// as training frameworks keep them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "calib/bench/fill.h"
#include "calib/device/gpu_context.h"

namespace tessella::calib {

struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  Element in = Element::bf16;
  Element out = Element::bf16;
  bool accumulate = false;
  std::int64_t batch = 1; // products of matrices that lie one behind another
  float scale = 1.0F;
};

// The layout of a pass: op gemm, gemm_dgrad or gemm_wgrad (also grouped_), with m n k of that pass.
GemmSpec gemm_spec(const std::string& op, const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k);

class LtGemm {
 public:
  // Takes the first algorithm of the library's heuristic, as frameworks do; choose() may take another of up to
  // `candidates` (at most 32). Throws DeviceError when the library has none.
  LtGemm(const GpuContext& gpu, const GemmSpec& spec, int candidates = 1);
  ~LtGemm();
  LtGemm(LtGemm&& other) noexcept;
  LtGemm& operator=(LtGemm&&) = delete;

  // `workspace` of the context may be used by one stream at a time; others pass their own.
  void run(const void* a, const void* b, void* d, cudaStream_t stream, void* workspace) const;
  const GemmSpec& spec() const { return spec_; }
  std::size_t candidates() const { return found_; }
  void choose(std::size_t candidate) { chosen_ = candidate; }

 private:
  const GpuContext* gpu_;
  GemmSpec spec_;
  DeviceMemory one_; // fp8 scales
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr; // of the library's operands, column-major
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  std::array<cublasLtMatmulAlgo_t, 32> algorithms_{}; // best guess first; `found_` of them
  std::size_t found_ = 0;
  std::size_t chosen_ = 0;
};

// Relative error of a product, by samples. For products that accumulate, D must have been zero before one run.
double gemm_error(const GpuContext& gpu, const GemmSpec& spec, const void* a, const void* b, const void* d);

} // namespace tessella::calib
