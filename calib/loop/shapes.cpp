#include "calib/loop/shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "calib/host/measure_ranks.h"
#include "calib/loop/execute.h"

namespace tessella::calib {
namespace {

constexpr std::int64_t kFloat = 4;

class Counter {
 public:
  Counter(const LoopModel& m, const LoopPlan& p) : m_(m), p_(p) {}

  void count(std::map<OpShape, double>& shapes) {
    shapes_ = &shapes;
    const double passes = static_cast<double>(p_.ep * p_.micro_batches); // of the whole model
    const double layers = passes * static_cast<double>(m_.layers);
    attention(layers);
    router(layers);
    experts(layers / static_cast<double>(p_.ep));
    permutation(layers);
    ends(passes);
    collectives(layers);
  }

 private:
  using Dims = std::vector<std::pair<std::string, std::int64_t>>;
  void add(const char* op, const char* kernel, Dims dims, double times) {
    (*shapes_)[{op, kernel, "", std::move(dims), 1}] += times;
  }
  void collective(const char* op, std::int64_t bytes, int ranks, double times) {
    (*shapes_)[{op, "", "", {{"bytes", bytes}}, ranks}] += times;
  }

  // A linear layer over the tokens: forward, input gradient, weight gradient.
  void linear(std::int64_t out, std::int64_t in, double times) {
    add("gemm", "", {{"m", m_.seq}, {"n", out}, {"k", in}}, times);
    add("gemm_dgrad", "", {{"m", m_.seq}, {"n", in}, {"k", out}}, times);
    add("gemm_wgrad", "", {{"m", out}, {"n", in}, {"k", m_.seq}}, times);
  }
  void norm(double times) {
    add("norm_fwd", "", {{"rows", m_.seq}, {"cols", m_.hidden}}, times);
    add("norm_bwd", "", {{"rows", m_.seq}, {"cols", m_.hidden}}, times);
  }

  void attention(double times) {
    const AttentionDims d = m_.attention();
    linear(d.qkv_width(), m_.hidden, times);
    linear(m_.hidden, d.out_width(), times);
    norm(2.0 * times);
    const Dims core = {{"batch", 1},           {"seq", d.seq},       {"heads", d.heads}, {"kv_heads", d.kv_heads},
                       {"qk_dim", d.head_dim}, {"v_dim", d.head_dim}};
    add("attention_fwd", "", core, times);
    add("attention_bwd", "", core, times);
    add("copy", "rope",
        {{"rows", m_.seq}, {"cols", (d.heads + d.kv_heads) * d.head_dim}, {"dim", d.head_dim}, {"seq", d.seq}},
        2.0 * times);
    add("copy", "add", {{"rows", m_.seq}, {"cols", m_.hidden}}, 5.0 * times);
  }

  void router(double times) {
    linear(m_.experts, m_.hidden, times);
    const Dims dims = {{"tokens", m_.seq}, {"topk", m_.topk}, {"experts", m_.experts}};
    add("router", "topk", dims, times);
    add("router", "topk_bwd", dims, times);
  }

  // `times` per rank of a group.
  void experts(double times) {
    const std::int64_t local = m_.experts / p_.ep;
    for (const std::int64_t rows : received_rows(m_, p_)) {
      const auto grouped = [&](std::int64_t in, std::int64_t out) {
        const Dims dims = {{"experts", local}, {"tokens", rows}, {"in", in}, {"out", out}};
        for (const char* op : {"grouped_gemm", "grouped_gemm_dgrad", "grouped_gemm_wgrad"}) add(op, "", dims, times);
      };
      grouped(m_.hidden, 2 * m_.expert_ffn);
      grouped(m_.expert_ffn, m_.hidden);
      add("activation", "", {{"rows", rows}, {"cols", m_.expert_ffn}}, times);
      add("activation_bwd", "", {{"rows", rows}, {"cols", m_.expert_ffn}}, times);
      if (p_.ep == 1) continue;
      add("permute", "sort", {{"rows", rows}, {"cols", m_.hidden}}, 2.0 * times);
      add("permute", "unsort", {{"rows", rows}, {"cols", m_.hidden}}, 2.0 * times);
    }
  }

  void permutation(double times) {
    const Dims dims = {{"tokens", m_.seq}, {"topk", m_.topk}, {"experts", m_.experts}, {"cols", m_.hidden}};
    add("permute", "permute", dims, times);
    add("permute", "unpermute_bwd", dims, times);
    add("unpermute", "unpermute", dims, times);
    add("unpermute", "permute_bwd", dims, times);
  }

  void ends(double times) {
    const Dims table = {{"rows", m_.seq}, {"cols", m_.hidden}, {"vocab", m_.vocab}};
    add("embedding", "lookup", table, times);
    add("embedding", "scatter_add", table, times);
    norm(times);
    linear(m_.vocab, m_.hidden, times);
    add("cross_entropy", "loss", {{"rows", m_.seq}, {"vocab", m_.vocab}}, times);
    add("cross_entropy", "loss_bwd", {{"rows", m_.seq}, {"vocab", m_.vocab}}, times);
    for (const std::int64_t params : PlanExecution(m_, p_).parameters_per_rank())
      add("optimizer", "", {{"params", params}}, 1.0);
  }

  // All kinds that a cluster of one node needs, at the sizes the plan uses.
  void collectives(double layers) {
    if (p_.world() == 1) return;
    const std::int64_t message = m_.seq * m_.hidden * kFloat;
    collective("send_recv", message, 2, 2.0 * static_cast<double>((p_.stages() - 1) * p_.micro_batches * p_.ep));
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) collective(op, 64, p_.world(), 1.0);
    if (p_.ep == 1) return;
    std::int64_t dense = 0;
    for (const std::int64_t params : PlanExecution(m_, p_).dense_parameters_per_rank()) dense = std::max(dense, params);
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) collective(op, dense * kFloat, p_.ep, 1.0);
    const auto received = received_rows(m_, p_);
    const std::int64_t rows = *std::max_element(received.begin(), received.end());
    collective("all_to_all", rows * m_.hidden * kFloat, p_.ep, 4.0 * layers);
    collective("all_to_all", rows * m_.hidden * kFloat / 4, p_.ep, 1.0); // a second size, for the latency
  }

  const LoopModel& m_;
  const LoopPlan& p_;
  std::map<OpShape, double>* shapes_ = nullptr;
};

} // namespace

std::vector<LoopShape> loop_shapes(const LoopModel& model, const std::vector<LoopPlan>& plans) {
  std::map<OpShape, double> shapes;
  for (const LoopPlan& plan : plans) Counter(model, plan).count(shapes);
  std::vector<LoopShape> list;
  for (const auto& [shape, count] : shapes) list.push_back({shape, count});
  return list;
}

} // namespace tessella::calib
