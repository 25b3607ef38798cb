// The graphs follow the definition of attention and of its gradient (Dao et al. 2022, algorithms 1 and 4):
//   S = scale Q K^T, causal; P = softmax(S); O = P V; stats = log sum exp S
//   P = exp(S - stats); dV = P^T dO; dP = dO V^T; dS = scale P o (dP - rowsum(dO o O)); dQ = dS K; dK = dS^T Q
// in the pieces that cuDNN's flash attention engines recognise (its documentation, "Fused Flash Attention fprop" and
// "bprop"). The one-op descriptors (SDPA_FWD, SDPA_BWD) cannot say "causal" before cuDNN 9.21, so they are not used.
#include "calib/bench/cudnn_attention.h"

#include <cmath>
#include <limits>

#include "calib/bench/fused_graph.h"

namespace tessella::calib {
namespace {

enum Id : std::int64_t { kQ = 1, kK, kV, kOut, kStats, kDout, kDq, kDk, kDv };
constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16;

class Builder {
 public:
  Builder(const SoftmaxDims& d, std::shared_ptr<const CudnnLibrary> library)
      : d_(d), graph_(std::move(library)),
        q_(graph_.memory(kQ, {d.batch, d.heads, d.seq, d.qk}, strides(d.heads, d.qk), kBf16)),
        k_(transposed_memory(kK, d.qk)), scale_(graph_.number(1.0F / std::sqrt(static_cast<float>(d.qk)))),
        never_(graph_.number(std::numeric_limits<float>::lowest())) {}

  CudnnGraph forward() {
    const GraphTensor v = graph_.memory(kV, {d_.batch, d_.kv_heads, d_.seq, d_.v}, strides(d_.kv_heads, d_.v), kBf16);
    const GraphTensor s = causal(scaled_scores());
    const GraphTensor top = graph_.reduce_last(CUDNN_REDUCE_TENSOR_MAX, s);
    const GraphTensor e = graph_.pointwise(CUDNN_POINTWISE_EXP, graph_.pointwise(CUDNN_POINTWISE_SUB, s, top));
    const GraphTensor sum = graph_.reduce_last(CUDNN_REDUCE_TENSOR_ADD, e);
    graph_.pointwise(CUDNN_POINTWISE_ADD, top, graph_.pointwise(CUDNN_POINTWISE_LOG, sum), stats());
    const GraphTensor p = graph_.pointwise(CUDNN_POINTWISE_DIV, e, sum, std::nullopt, kBf16);
    graph_.product(p, v, values(kOut));
    return std::move(graph_);
  }

  CudnnGraph backward() {
    const GraphTensor v = transposed_memory(kV, d_.v);
    const GraphTensor dout = values(kDout);
    const GraphTensor rows = row_sums(dout);
    const GraphTensor p =
        graph_.pointwise(CUDNN_POINTWISE_EXP, causal(graph_.pointwise(CUDNN_POINTWISE_SUB, scaled_scores(), stats())));
    to_shared_heads(graph_.transposed(p, kBf16), dout, key_memory(kDv, d_.v));
    const GraphTensor dp = graph_.pointwise(CUDNN_POINTWISE_SUB, graph_.product(dout, v), rows);
    const GraphTensor ds = graph_.pointwise(CUDNN_POINTWISE_MUL, graph_.pointwise(CUDNN_POINTWISE_MUL, dp, p), scale_);
    to_shared_heads(graph_.transposed(ds, kBf16), q_, key_memory(kDk, d_.qk));
    const GraphTensor sum = graph_.scratch(q_.dims, CUDNN_DATA_FLOAT);
    graph_.product(ds, graph_.transposed(k_, kBf16), sum);
    graph_.pointwise(CUDNN_POINTWISE_IDENTITY, sum, graph_.memory(kDq, q_.dims, q_.strides, kBf16));
    return std::move(graph_);
  }

 private:
  Shape4 strides(std::int64_t heads, std::int64_t width) const { return packed({d_.batch, heads, d_.seq, width}); }
  // Keys or values as the second operand of a product over their width.
  GraphTensor transposed_memory(Id id, std::int64_t width) {
    Shape4 s = strides(d_.kv_heads, width);
    std::swap(s[2], s[3]);
    return graph_.memory(id, {d_.batch, d_.kv_heads, width, d_.seq}, s, kBf16);
  }
  GraphTensor key_memory(Id id, std::int64_t width) {
    return graph_.memory(id, {d_.batch, d_.kv_heads, d_.seq, width}, strides(d_.kv_heads, width), kBf16);
  }
  GraphTensor values(Id id) { // of the width of a value, for every query
    return graph_.memory(id, {d_.batch, d_.heads, d_.seq, d_.v}, strides(d_.heads, d_.v), kBf16);
  }
  GraphTensor stats() {
    return graph_.memory(kStats, {d_.batch, d_.heads, d_.seq, 1}, strides(d_.heads, 1), CUDNN_DATA_FLOAT);
  }
  GraphTensor scaled_scores() { return graph_.pointwise(CUDNN_POINTWISE_MUL, graph_.product(q_, k_), scale_); }
  GraphTensor causal(const GraphTensor& s) {
    const GraphTensor mask = graph_.pointwise(CUDNN_POINTWISE_CMP_GE, graph_.index(s, 2), graph_.index(s, 3),
                                              std::nullopt, CUDNN_DATA_BOOLEAN);
    return graph_.select(mask, s, never_);
  }
  // sum_j dO O of every row, in memory: the engine computes it in a kernel before the others.
  GraphTensor row_sums(const GraphTensor& dout) {
    const GraphTensor sums =
        graph_.reduce_last(CUDNN_REDUCE_TENSOR_ADD, graph_.pointwise(CUDNN_POINTWISE_MUL, dout, values(kOut)));
    return graph_.pointwise(CUDNN_POINTWISE_MUL, sums, graph_.number(1.0F),
                            graph_.scratch(sums.dims, CUDNN_DATA_FLOAT));
  }
  // a b, summed over the query heads that share a key-value head.
  void to_shared_heads(const GraphTensor& a, const GraphTensor& b, const GraphTensor& out) {
    if (d_.group() == 1)
      graph_.product(a, b, out);
    else
      graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, graph_.product(a, b, std::nullopt, kBf16), out);
  }

  SoftmaxDims d_;
  CudnnGraph graph_;
  GraphTensor q_, k_, scale_, never_;
};

CudnnGraph graph_of(const SoftmaxDims& dims, AttentionPass pass, std::shared_ptr<const CudnnLibrary> library) {
  Builder builder(dims, std::move(library));
  return pass == AttentionPass::forward ? builder.forward() : builder.backward();
}

} // namespace

struct CudnnAttention::Plan {
  AttentionPass pass;
  CudnnGraph graph; // its tensors and ops outlive the plan
  CudnnGraph::Plan plan;
};

CudnnAttention::CudnnAttention(const SoftmaxDims& dims, AttentionPass pass, cudaStream_t stream) {
  const auto library = std::make_shared<const CudnnLibrary>();
  const auto handle = std::make_shared<const CudnnHandle>(library, stream);
  CudnnGraph graph = graph_of(dims, pass, library);
  CudnnGraph::Plan plan = graph.plan(handle);
  plan_ = std::make_unique<Plan>(Plan{pass, std::move(graph), std::move(plan)});
}

CudnnAttention::CudnnAttention(const SoftmaxDims& dims, AttentionPass pass, const std::string& described_gpu) {
  CudnnGraph graph = graph_of(dims, pass, std::make_shared<const CudnnLibrary>());
  CudnnGraph::Plan plan = graph.plan_for(described_gpu);
  plan_ = std::make_unique<Plan>(Plan{pass, std::move(graph), std::move(plan)});
}

CudnnAttention::~CudnnAttention() = default;
CudnnAttention::CudnnAttention(CudnnAttention&&) noexcept = default;

std::size_t CudnnAttention::workspace_bytes() const {
  return plan_->plan.workspace_bytes();
}

void CudnnAttention::run(const AttentionBuffers& b, void* workspace) const {
  std::vector<std::pair<std::int64_t, void*>> memory = {
      {kQ, b.q}, {kK, b.k}, {kV, b.v}, {kOut, b.out}, {kStats, b.stats}};
  if (plan_->pass == AttentionPass::backward)
    memory.insert(memory.end(), {{kDout, b.dout}, {kDq, b.dq}, {kDk, b.dk}, {kDv, b.dv}});
  plan_->plan.run(memory, workspace);
}

std::string fused_attention_text() {
  try {
    return "cuDNN " + CudnnLibrary().version();
  } catch (const NoFusedKernel& error) {
    return std::string("gemm+softmax: ") + error.what();
  }
}

} // namespace tessella::calib
