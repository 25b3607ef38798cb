// Fused attention through cuDNN: what training frameworks run. The backward reads the output and the statistics that
// the forward of the same inputs left, so a backward case runs one forward per input set while it prepares.
#include <algorithm>
#include <optional>

#include "calib/bench/attention_check.h"
#include "calib/bench/bench_table.h"
#include "calib/bench/fill.h"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

struct FlashState {
  DeviceMemory q, k, v, out, stats;
  DeviceMemory dout, dq, dk, dv; // backward only
  AttentionBuffers buffers() const {
    return {q.get(), k.get(), v.get(), out.get(), stats.get(), dout.get(), dq.get(), dk.get(), dv.get()};
  }
};

// Plans of a shape and the workspace that they take turns in: one stream, so never at once.
struct FlashPlans {
  FlashPlans(const GpuContext& gpu, const SoftmaxDims& d, bool backward_too)
      : forward(d, AttentionPass::forward, gpu.stream().get()) {
    if (backward_too) backward.emplace(d, AttentionPass::backward, gpu.stream().get());
    workspace = DeviceMemory(std::max(forward.workspace_bytes(), backward ? backward->workspace_bytes() : 0));
  }
  CudnnAttention forward;
  std::optional<CudnnAttention> backward;
  DeviceMemory workspace;
};

FlashState make_state(const GpuContext& gpu, const SoftmaxDims& d, const FlashPlans& plans, std::uint64_t seed) {
  const Stream& stream = gpu.stream();
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t q = d.batch * d.heads * d.seq;
  const std::int64_t kv = d.groups() * d.seq;
  FlashState s;
  s.q = random_memory(size(q * d.qk), Element::bf16, seed, stream);
  s.k = random_memory(size(kv * d.qk), Element::bf16, seed + 1000, stream);
  s.v = random_memory(size(kv * d.v), Element::bf16, seed + 2000, stream);
  s.out = poisoned_memory(size(2 * q * d.v), stream);
  s.stats = poisoned_memory(size(4 * q), stream);
  if (!plans.backward) return s;
  plans.forward.run(s.buffers(), plans.workspace.get());
  s.dout = random_memory(size(q * d.v), Element::bf16, seed + 3000, stream);
  s.dq = poisoned_memory(size(2 * q * d.qk), stream);
  s.dk = poisoned_memory(size(2 * kv * d.qk), stream);
  s.dv = poisoned_memory(size(2 * kv * d.v), stream);
  return s;
}

} // namespace

std::unique_ptr<OpCase> flash_attention_case(const GpuContext& gpu, const OpShape& shape) {
  const SoftmaxDims d = softmax_dims(shape);
  const bool backward = shape.op == "attention_bwd";
  const auto plans = std::make_shared<FlashPlans>(gpu, d, backward);
  GpuOp<FlashState> op;
  op.work = attention_work(d, backward);
  op.make = [&gpu, d, plans](std::uint64_t seed) { return make_state(gpu, d, *plans, seed); };
  op.run = [plans](FlashState& s) {
    (plans->backward ? *plans->backward : plans->forward).run(s.buffers(), plans->workspace.get());
  };
  op.sample = [&gpu, d, backward](FlashState& s, const SampleBuffer& b) {
    const void* result = backward ? s.dq.get() : s.out.get();
    sample_attention(gpu, d, {s.q.get(), s.k.get(), s.v.get(), s.dout.get(), result, backward}, b);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
