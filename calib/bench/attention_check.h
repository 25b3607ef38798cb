// What both attention benches share: shape, work, and the check by the definition. The reference knows no scores in
// memory, no blocks and no running maximum.
#pragma once

#include "calib/bench/cudnn_attention.h"
#include "calib/bench/samples.h"
#include "calib/device/gpu_context.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

// Dims batch, seq, heads, kv_heads, qk_dim, v_dim. Throws std::invalid_argument for heads that cannot be shared.
SoftmaxDims softmax_dims(const OpShape& shape);

// Causal; footprint of the tensors alone.
Work attention_work(const SoftmaxDims& dims, bool backward);

// Device memory. `result` is the output, or for backward the gradient of the queries.
struct AttentionSample {
  const void* q;
  const void* k;
  const void* v;
  const void* dout;
  const void* result;
  bool backward;
};

// Launches the check on the context's stream.
void sample_attention(const GpuContext& gpu, const SoftmaxDims& dims, const AttentionSample& sample,
                      const SampleBuffer& buffer);

} // namespace tessella::calib
