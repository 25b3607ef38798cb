// Fused causal attention (flash attention) through cuDNN's operation graphs, forward and backward, with grouped
// key-value heads. Here when cuDNN's headers were there at build time and its library is there at run time; every other
// case, and every answer of cuDNN that is not a plan, is a NoFusedKernel with the reason.
//
// Tensors are bf16 [batch][head][seq][dim], packed; stats fp32 [batch][head][seq]. No CUDA is needed to include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

struct CUstream_st;

namespace tessella::calib {

struct SoftmaxDims {
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t qk = 1; // head size of queries and keys
  std::int64_t v = 1;  // of values

  constexpr std::int64_t group() const { return heads / kv_heads; }  // query heads of a key-value head
  constexpr std::int64_t groups() const { return batch * kv_heads; } // key-value heads
};

class NoFusedKernel : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class AttentionPass { forward, backward };

// Device memory of one launch. Forward reads q, k, v, writes out and stats (log of the softmax's sum, of every row);
// backward reads those five and dout, writes dq, dk, dv.
struct AttentionBuffers {
  void* q = nullptr;
  void* k = nullptr;
  void* v = nullptr;
  void* out = nullptr;
  void* stats = nullptr;
  void* dout = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
};

// A plan for one shape and pass.
class CudnnAttention {
 public:
  // For the current GPU, launching on `stream`. Throws NoFusedKernel, OutOfMemory.
  CudnnAttention(const SoftmaxDims& dims, AttentionPass pass, CUstream_st* stream);
  // For a GPU that is described only (cuDNN's JSON of device properties): finds out whether there is a plan, on a
  // machine without that GPU. Cannot run.
  CudnnAttention(const SoftmaxDims& dims, AttentionPass pass, const std::string& described_gpu);
  ~CudnnAttention();
  CudnnAttention(CudnnAttention&&) noexcept;

  // Device memory that a launch needs besides its buffers, at multiples of 256 bytes.
  std::size_t workspace_bytes() const;
  // Asynchronous on the stream. `workspace` of workspace_bytes(). Throws NoFusedKernel when the launch fails.
  void run(const AttentionBuffers& buffers, void* workspace) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

// "cuDNN 9.19.0", or why there is no fused attention: for the record of a run.
std::string fused_attention_text();

} // namespace tessella::calib
