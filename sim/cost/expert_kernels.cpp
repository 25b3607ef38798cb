// The expert MLPs of one rank: grouped GEMMs over its local experts, with the kernels between them.
#include <numeric>

#include "sim/cost/ffn_ops.h"
#include "sim/cost/moe_ops.h"
#include "sim/domain/workload_shape.h"

namespace tessella {
namespace {

// The two grouped layers on one rank, and how many rows they see.
struct Experts {
  double rows = 0.0;
  std::int64_t input = 0; // h, or the latent width
  std::int64_t width = 0; // f_e / ETP
  LinearShape fc1;
  LinearShape fc2;
};

Experts experts_of(const LayerContext& c, const MoeFfn& moe, std::span<const std::int64_t> tokens) {
  const std::int64_t width = moe.moe_ffn_hidden_size / c.scenario.parallelism.etp;
  const std::int64_t rows = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  const std::int64_t in = expert_input_size(c.hidden, moe);
  return {static_cast<double>(rows), in, width, {0, in, (moe.gated ? 2 : 1) * width}, {0, width, in}};
}

class PassKernels {
 public:
  PassKernels(const LayerContext& c, std::span<const std::int64_t> tokens) : c_(c), tokens_(tokens) {}

  void cast(const char* name, double elements) {
    if (c_.fp8()) list_.push_back(c_.kernels.stream(name, StreamKernel::cast, cast_bytes(elements)));
  }
  void gemm(const char* name, GemmPass pass, const LinearShape& shape) {
    list_.push_back(c_.kernels.grouped(name, pass, tokens_, shape));
  }
  void activation(const char* name, bool gated, bool backward, double elements) {
    list_.push_back(c_.kernels.stream(name, backward ? StreamKernel::activation_bwd : StreamKernel::activation_fwd,
                                      activation_bytes(gated, backward, elements)));
  }
  std::vector<OpDetail> take() { return std::move(list_); }

 private:
  const LayerContext& c_;
  std::span<const std::int64_t> tokens_;
  std::vector<OpDetail> list_;
};

} // namespace

std::int64_t local_experts(const LayerContext& c, const MoeFfn& moe) {
  return moe.num_experts / c.scenario.parallelism.ep + placed_replicas(c.scenario);
}

bool permutes_before(const LayerContext& c) {
  return c.scenario.parallelism.ep == 1 || c.scenario.dispatcher == Dispatcher::alltoall;
}

bool dispatches_fp8(const LayerContext& c) {
  const Dispatcher d = c.scenario.dispatcher;
  return c.fp8() && c.scenario.parallelism.ep > 1 && (d == Dispatcher::deepep || d == Dispatcher::hybridep);
}

std::vector<std::int64_t> spread_evenly(std::int64_t rows, std::int64_t experts) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(experts), rows / experts);
  for (std::int64_t e = 0; e < rows % experts; ++e) ++tokens[static_cast<std::size_t>(e)];
  return tokens;
}

std::vector<OpDetail> expert_kernels(const LayerContext& c, const MoeFfn& moe, GemmPass pass,
                                     std::span<const std::int64_t> tokens) {
  const Experts e = experts_of(c, moe, tokens);
  const double input = e.rows * static_cast<double>(e.input);
  const double width = e.rows * static_cast<double>(e.width);
  const double fc1_out = e.rows * static_cast<double>(e.fc1.out);
  PassKernels k(c, tokens);
  switch (pass) {
  case GemmPass::forward:
    if (!dispatches_fp8(c)) k.cast("fc1_cast", input);
    k.gemm("fc1", pass, e.fc1);
    k.activation("act", moe.gated, false, width);
    k.cast("fc2_cast", width);
    k.gemm("fc2", pass, e.fc2);
    break;
  case GemmPass::dgrad:
    if (!dispatches_fp8(c)) k.cast("fc2_grad_cast", input);
    k.gemm("fc2_dgrad", pass, e.fc2);
    if (c.recompute.moe_act) k.activation("rc_act", moe.gated, false, width);
    k.activation("act_bwd", moe.gated, true, width);
    k.cast("fc1_grad_cast", fc1_out);
    k.gemm("fc1_dgrad", pass, e.fc1);
    break;
  case GemmPass::wgrad: // both operands of each GEMM, transposed
    k.cast("fc2_transpose_cast", width + input);
    k.gemm("fc2_wgrad", pass, e.fc2);
    k.cast("fc1_transpose_cast", input + fc1_out);
    k.gemm("fc1_wgrad", pass, e.fc1);
    break;
  }
  return k.take();
}

} // namespace tessella
