#include "calib/loop/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calib/loop/order.h"
#include "calib/loop/shapes.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

using Dims = std::vector<std::pair<std::string, std::int64_t>>;
constexpr std::int64_t kBf16 = 2;
constexpr std::int64_t kFp32 = 4;

std::int64_t dense_parameters(const LoopModel& m, const LoopPlan& p, int pp_rank) {
  const AttentionDims d = m.attention();
  const std::int64_t layer = m.hidden * (d.qkv_width() + d.out_width() + m.experts + 2);
  std::int64_t n = 0;
  for (int s = pp_rank; s < p.stages(); s += p.pp) {
    n += p.layers[static_cast<std::size_t>(s)] * layer;
    if (s == 0) n += m.vocab * m.hidden;
    if (s + 1 == p.stages()) n += m.hidden + m.vocab * m.hidden;
  }
  return n;
}

std::int64_t expert_parameters(const LoopModel& m, const LoopPlan& p, int pp_rank) {
  std::int64_t n = 0;
  for (int s = pp_rank; s < p.stages(); s += p.pp)
    n += p.layers[static_cast<std::size_t>(s)] * (m.experts / p.ep) * 3 * m.expert_ffn * m.hidden;
  return n;
}

// The steps of one rank.
class Writer {
 public:
  Writer(const LoopModel& m, const LoopPlan& p, int rank, LoopProgram& program)
      : m_(m), p_(p), pp_rank_(rank / p.ep), rank_(rank), program_(program),
        rows_(received_rows(m, p)[static_cast<std::size_t>(rank % p.ep)]) {}

  std::vector<ProgramStep> write(const std::vector<Action>& order) {
    for (const Action& a : order) {
      action_ = a;
      in_action_ = true;
      const int stage = a.stage.value;
      const bool forward = a.kind == ActionKind::F;
      if (forward ? stage > 0 : stage + 1 < p_.stages()) message(StepKind::receive, "recv", other_end(-1), a.kind);
      if (forward)
        forward_stage(stage);
      else
        backward_stage(stage);
      if (forward ? stage + 1 < p_.stages() : stage > 0) message(StepKind::send, "send", other_end(1), a.kind);
    }
    finish_step();
    return std::move(steps_);
  }

 private:
  // The rank that the data of the current action come from (-1) or go to (+1).
  int other_end(int direction) const {
    const int stage = action_.stage.value + (action_.kind == ActionKind::F ? direction : -direction);
    return stage % p_.pp * p_.ep + rank_ % p_.ep;
  }

  void add(ProgramStep step) {
    step.action = action_;
    step.in_action = in_action_;
    steps_.push_back(step);
  }
  void kernel(const char* name, const char* op, const char* kind, Dims dims, const char* dtype = "") {
    OpShape shape{op, kind, dtype, std::move(dims), 1};
    auto it = std::find(program_.kernels.begin(), program_.kernels.end(), shape);
    if (it == program_.kernels.end()) it = program_.kernels.insert(it, std::move(shape));
    add({StepKind::kernel, name, static_cast<std::size_t>(it - program_.kernels.begin()), 0, 1, {}, false});
  }
  void message(StepKind kind, const char* name, int other, ActionKind what) {
    const Channel c = kind == StepKind::send ? Channel{rank_, other, what} : Channel{other, rank_, what};
    auto it = std::find(program_.channels.begin(), program_.channels.end(), c);
    if (it == program_.channels.end()) it = program_.channels.insert(it, c);
    add({kind,
         name,
         static_cast<std::size_t>(it - program_.channels.begin()),
         m_.seq * m_.hidden * kBf16,
         2,
         {},
         false});
  }
  void exchange(const char* name) {
    const std::vector<std::int64_t> received = received_rows(m_, p_);
    const std::int64_t rows = *std::max_element(received.begin(), received.end());
    add({StepKind::exchange, name, 0, rows * m_.hidden * kBf16, p_.ep, {}, false});
  }

  // Linear layers over the tokens.
  void gemm(const char* name, std::int64_t out, std::int64_t in) {
    kernel(name, "gemm", "", {{"m", m_.seq}, {"n", out}, {"k", in}}, "bf16");
  }
  void dgrad(const char* name, std::int64_t out, std::int64_t in) {
    kernel(name, "gemm_dgrad", "", {{"m", m_.seq}, {"n", in}, {"k", out}}, "bf16");
  }
  void wgrad(const char* name, std::int64_t out, std::int64_t in) {
    kernel(name, "gemm_wgrad", "", {{"m", out}, {"n", in}, {"k", m_.seq}}, "bf16");
  }
  void grouped(const char* name, const char* op, std::int64_t in, std::int64_t out) {
    kernel(name, op, "", {{"experts", m_.experts / p_.ep}, {"tokens", rows_}, {"in", in}, {"out", out}, {"skew", 0}},
           "bf16");
  }
  void norm(const char* name, const char* op) { kernel(name, op, "", {{"rows", m_.seq}, {"cols", m_.hidden}}); }
  void residual(const char* name) { kernel(name, "copy", "add", {{"rows", m_.seq}, {"cols", m_.hidden}}); }
  void rope(const char* name) {
    const AttentionDims d = m_.attention();
    kernel(name, "copy", "rope",
           {{"rows", m_.seq}, {"cols", (d.heads + d.kv_heads) * d.head_dim}, {"dim", d.head_dim}, {"seq", d.seq}});
  }
  void core(const char* name, const char* op) {
    const AttentionDims d = m_.attention();
    kernel(name, op, "cudnn",
           {{"batch", 1},
            {"seq", d.seq},
            {"heads", d.heads},
            {"kv_heads", d.kv_heads},
            {"qk_dim", d.head_dim},
            {"v_dim", d.head_dim}},
           "bf16");
  }
  void router(const char* name, const char* kind) {
    kernel(name, "router", kind, {{"tokens", m_.seq}, {"topk", m_.topk}, {"experts", m_.experts}});
  }
  void permutation(const char* name, const char* op, const char* kind) {
    kernel(name, op, kind, {{"tokens", m_.seq}, {"topk", m_.topk}, {"experts", m_.experts}, {"cols", m_.hidden}});
  }
  // Received rows into the order of the local experts, or back: a permutation with one copy of each.
  void sort(const char* name) {
    if (p_.ep == 1) return;
    kernel(name, "permute", "permute",
           {{"tokens", rows_}, {"topk", 1}, {"experts", m_.experts / p_.ep}, {"cols", m_.hidden}});
  }
  void transfer(const char* name) {
    if (p_.ep > 1) exchange(name);
  }
  void activation(const char* name, const char* op) {
    kernel(name, op, "", {{"rows", rows_}, {"cols", m_.expert_ffn}});
  }
  void table(const char* name, const char* kind) {
    kernel(name, "embedding", kind, {{"rows", m_.seq}, {"cols", m_.hidden}, {"vocab", m_.vocab}});
  }
  void loss(const char* name, const char* kind) {
    kernel(name, "cross_entropy", kind, {{"rows", m_.seq}, {"vocab", m_.vocab}});
  }

  void forward_layer() {
    const AttentionDims d = m_.attention();
    norm("norm_1", "norm_fwd");
    gemm("qkv", d.qkv_width(), m_.hidden);
    rope("rope");
    core("core", "attention_fwd");
    gemm("out_proj", m_.hidden, d.out_width());
    residual("residual_1");
    norm("norm_2", "norm_fwd");
    gemm("router", m_.experts, m_.hidden);
    router("router_topk", "topk");
    permutation("permute", "permute", "permute");
    transfer("dispatch");
    sort("sort_rows");
    grouped("fc1", "grouped_gemm", m_.hidden, 2 * m_.expert_ffn);
    activation("act", "activation");
    grouped("fc2", "grouped_gemm", m_.expert_ffn, m_.hidden);
    sort("unsort_rows");
    transfer("combine");
    permutation("unpermute", "unpermute", "unpermute");
    residual("residual_2");
  }

  void backward_experts() {
    permutation("unpermute_bwd", "permute", "unpermute_bwd");
    transfer("combine_bwd");
    sort("unsort_rows_bwd");
    grouped("fc2_dgrad", "grouped_gemm_dgrad", m_.expert_ffn, m_.hidden);
    activation("act_bwd", "activation_bwd");
    grouped("fc1_dgrad", "grouped_gemm_dgrad", m_.hidden, 2 * m_.expert_ffn);
    sort("sort_rows_bwd");
    transfer("dispatch_bwd");
    permutation("permute_bwd", "unpermute", "permute_bwd");
    router("router_topk_bwd", "topk_bwd");
    dgrad("router_dgrad", m_.experts, m_.hidden);
    residual("router_grad_add");
    norm("norm_2_bwd", "norm_bwd");
    residual("residual_2_bwd");
  }

  void backward_layer() {
    const AttentionDims d = m_.attention();
    backward_experts();
    dgrad("out_proj_dgrad", m_.hidden, d.out_width());
    core("core_bwd", "attention_bwd");
    rope("rope_bwd");
    dgrad("qkv_dgrad", d.qkv_width(), m_.hidden);
    norm("norm_1_bwd", "norm_bwd");
    residual("residual_1_bwd");
    grouped("fc2_wgrad", "grouped_gemm_wgrad", m_.expert_ffn, m_.hidden);
    grouped("fc1_wgrad", "grouped_gemm_wgrad", m_.hidden, 2 * m_.expert_ffn);
    wgrad("out_proj_wgrad", m_.hidden, d.out_width());
    wgrad("qkv_wgrad", d.qkv_width(), m_.hidden);
    wgrad("router_wgrad", m_.experts, m_.hidden);
  }

  void forward_stage(int stage) {
    if (stage == 0) table("lookup", "lookup");
    for (int l = 0; l < p_.layers[static_cast<std::size_t>(stage)]; ++l) forward_layer();
    if (stage + 1 < p_.stages()) return;
    norm("final_norm", "norm_fwd");
    gemm("logits", m_.vocab, m_.hidden);
    loss("loss", "loss");
  }
  void backward_stage(int stage) {
    if (stage + 1 == p_.stages()) {
      loss("loss_bwd", "loss_bwd");
      dgrad("logits_dgrad", m_.vocab, m_.hidden);
      norm("final_norm_bwd", "norm_bwd");
      wgrad("logits_wgrad", m_.vocab, m_.hidden);
    }
    for (int l = 0; l < p_.layers[static_cast<std::size_t>(stage)]; ++l) backward_layer();
    if (stage == 0) table("scatter_add", "scatter_add");
  }

  void finish_step() {
    action_ = {};
    in_action_ = false;
    const std::int64_t dense = dense_parameters(m_, p_, pp_rank_);
    if (p_.ep > 1) add({StepKind::reduce, "grad_reduce", 0, dense * kFp32, p_.ep, {}, false});
    if (p_.world() > 1) add({StepKind::reduce, "norm_sync", 0, 64, p_.world(), {}, false});
    kernel("optimizer", "optimizer", "", {{"params", dense + expert_parameters(m_, p_, pp_rank_)}});
  }

  const LoopModel& m_;
  const LoopPlan& p_;
  int pp_rank_;
  int rank_;
  LoopProgram& program_;
  std::int64_t rows_;
  Action action_;
  bool in_action_ = false;
  std::vector<ProgramStep> steps_;
};

} // namespace

LoopProgram program_of(const LoopModel& model, const LoopPlan& plan) {
  const auto order = order_of(plan);
  LoopProgram program;
  for (int r = 0; r < plan.world(); ++r)
    program.ranks.push_back(Writer(model, plan, r, program).write(order[static_cast<std::size_t>(r / plan.ep)]));
  check_progress(program, plan.name);
  return program;
}

std::vector<LoopShape> program_shapes(const LoopModel& model, const std::vector<LoopPlan>& plans) {
  std::map<OpShape, double> shapes;
  const auto collective = [&](const char* op, std::int64_t bytes, int ranks) {
    shapes[{op, "nccl", "", {{"bytes", bytes}}, ranks}] += 1.0;
  };
  for (const LoopPlan& plan : plans) {
    const LoopProgram program = program_of(model, plan);
    for (const auto& steps : program.ranks) {
      for (const ProgramStep& s : steps) {
        if (s.kind == StepKind::kernel) shapes[program.kernels[s.index]] += 1.0;
        if (s.kind == StepKind::send) collective("send_recv", s.bytes, 2);
        if (s.kind == StepKind::exchange) collective("all_to_all", s.bytes, s.ranks);
        if (s.kind == StepKind::exchange) collective("all_to_all", s.bytes / 4, s.ranks); // for the latency
        if (s.kind != StepKind::reduce) continue;
        for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) collective(op, s.bytes, s.ranks);
      }
    }
  }
  std::vector<LoopShape> list;
  for (const auto& [shape, count] : shapes) list.push_back({shape, count});
  return list;
}

} // namespace tessella::calib
