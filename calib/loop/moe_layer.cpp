#include "calib/loop/moe_layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calib/protocol/random_fill.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

float scale_of(std::int64_t inputs) {
  return std::sqrt(3.0F / static_cast<float>(inputs)); // variance 1 / inputs
}

std::span<const float> gain(const Parameter& p) {
  return p.value.values();
}

void zero_rows(Tensor& t, std::int64_t first, std::int64_t last) {
  std::fill(t.row(first), t.row(first) + (last - first) * t.cols(), 0.0F);
}

// The rows that pad each expert to whole tiles.
void zero_padding(Tensor& t, const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& tokens) {
  for (std::size_t e = 0; e < tokens.size(); ++e) zero_rows(t, offsets[e] + tokens[e], offsets[e + 1]);
}

// Rows to every rank of the group: [rank] counts become floats, and back.
ExchangeTimes exchange_rows(HostComm& group, const Tensor& in, std::span<const std::int64_t> in_rows, Tensor& out,
                            std::span<const std::int64_t> out_rows) {
  std::vector<std::int64_t> in_counts;
  for (const std::int64_t rows : in_rows) in_counts.push_back(rows * in.cols());
  std::vector<std::int64_t> out_counts(in_counts.size());
  const ExchangeTimes t = group.all_to_all(in.values(), in_counts, out.values(), out_counts);
  for (std::size_t r = 0; r < out_counts.size(); ++r) TSL_CHECK_OP(out_counts[r], ==, out_rows[r] * out.cols());
  return t;
}

void record(Recorder& recorder, const char* op, const ExchangeTimes& t) {
  recorder.add(op, LoopLane::ep, t.begin, t.last_arrival - t.begin, t.end);
}

// Rows per (source rank, local expert); the first exchange of a dispatch, as dispatchers send counts before tokens.
std::vector<std::int64_t> exchange_counts(HostComm& group, const Routing& routing) {
  const std::size_t local = routing.tokens.size() / static_cast<std::size_t>(group.ranks());
  std::vector<float> out;
  for (const std::int64_t t : routing.tokens) out.push_back(static_cast<float>(t));
  const std::vector<std::int64_t> parts(static_cast<std::size_t>(group.ranks()), static_cast<std::int64_t>(local));
  std::vector<float> in(routing.tokens.size());
  std::vector<std::int64_t> got(parts.size());
  group.all_to_all(out, parts, in, got);
  std::vector<std::int64_t> counts;
  for (const float c : in) counts.push_back(static_cast<std::int64_t>(c));
  return counts;
}

// Where each received row goes: sources one after another inside each expert.
void plan_sort(const std::vector<std::int64_t>& counts, std::size_t local, LayerContext& c,
               std::vector<std::int64_t>& tokens) {
  const std::size_t ranks = counts.size() / local;
  tokens.assign(local, 0);
  c.receive_rows.assign(ranks, 0);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t e = 0; e < local; ++e) {
      tokens[e] += counts[r * local + e];
      c.receive_rows[r] += counts[r * local + e];
    }
  }
  c.offsets = padded_offsets(tokens);
  std::vector<std::int64_t> next(c.offsets.begin(), c.offsets.end() - 1);
  c.to.clear();
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t e = 0; e < local; ++e)
      for (std::int64_t i = 0; i < counts[r * local + e]; ++i) c.to.push_back(next[e]++);
}

} // namespace

Parameter::Parameter(std::int64_t rows, std::int64_t cols, float scale, std::uint64_t seed)
    : value(rows, cols), grad(rows, cols), mean(rows, cols), variance(rows, cols) {
  fill_random(value.values(), seed);
  for (float& v : value.values()) v *= scale;
}

MoeLayer::MoeLayer(const LoopModel& m, int index, int ep_rank, int ep) {
  const auto seed = static_cast<std::uint64_t>(index) * 1000;
  const AttentionDims d = m.attention();
  norm1_ = Parameter(1, m.hidden, 1.0F, seed + 1);
  qkv_ = Parameter(d.qkv_width(), m.hidden, scale_of(m.hidden), seed + 2);
  out_ = Parameter(m.hidden, d.out_width(), scale_of(d.out_width()), seed + 3);
  norm2_ = Parameter(1, m.hidden, 1.0F, seed + 4);
  router_ = Parameter(m.experts, m.hidden, scale_of(m.hidden), seed + 5);
  const std::int64_t local = m.experts / ep;
  const auto expert_seed = seed + 100 + static_cast<std::uint64_t>(ep_rank);
  fc1_ = Parameter(local * 2 * m.expert_ffn, m.hidden, scale_of(m.hidden), expert_seed);
  fc2_ = Parameter(local * m.hidden, m.expert_ffn, scale_of(m.expert_ffn), expert_seed + 100);
  fc1_.expert = fc2_.expert = true;
}

std::vector<Parameter*> MoeLayer::parameters() {
  return {&norm1_, &qkv_, &out_, &norm2_, &router_, &fc1_, &fc2_};
}

void MoeLayer::forward(const Tensor& x, Tensor& y, LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  attention_forward(x, c, rt);
  c.norm2.resize(m.seq, m.hidden);
  c.inverse2.resize(static_cast<std::size_t>(m.seq));
  rec.run("norm_2", [&] { rms_norm_forward(c.middle, gain(norm2_), c.norm2, c.inverse2); });
  rt.logits.resize(m.seq, m.experts);
  rec.run("router", [&] { linear_forward(c.norm2, router_.value, rt.logits); });
  rec.run("router_topk", [&] { route(rt.logits, m.topk, rt.forced, c.routing); });
  dispatch(c, rt);
  experts_forward(c, rt);
  combine(c, rt);
  y.resize(m.seq, m.hidden);
  rec.run("unpermute", [&] { unpermute(c.combined, c.routing, y); });
  rec.run("residual_2", [&] { add(y, c.middle, y); });
}

void MoeLayer::attention_forward(const Tensor& x, LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  const AttentionDims d = m.attention();
  Recorder& rec = *rt.recorder;
  c.x = x;
  c.norm1.resize(m.seq, m.hidden);
  c.inverse1.resize(static_cast<std::size_t>(m.seq));
  c.qkv.resize(m.seq, d.qkv_width());
  c.attention.resize(m.seq, d.out_width());
  c.lse.resize(m.seq, m.heads);
  c.middle.resize(m.seq, m.hidden);
  rec.run("norm_1", [&] { rms_norm_forward(c.x, gain(norm1_), c.norm1, c.inverse1); });
  rec.run("qkv", [&] { linear_forward(c.norm1, qkv_.value, c.qkv); });
  rec.run("rope", [&] { rope(*rt.rope, c.qkv, m.heads + m.kv_heads, false); });
  rec.run("core", [&] { calib::attention_forward(d, c.qkv, c.attention, c.lse, rt.attention); });
  rec.run("out_proj", [&] { linear_forward(c.attention, out_.value, c.middle); });
  rec.run("residual_1", [&] { add(c.middle, c.x, c.middle); });
}

// Permuted rows to the ranks of their experts, sorted by expert and padded to tiles.
void MoeLayer::dispatch(LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  const std::int64_t rows = m.seq * m.topk;
  if (rt.group == nullptr) {
    c.offsets = padded_offsets(c.routing.tokens);
    TSL_CHECK_OP(c.offsets.back(), ==, rows); // whole tiles per expert: permuted rows are padded rows
    c.expert_in.resize(rows, m.hidden);
    rec.run("permute", [&] { permute(c.norm2, c.routing, c.expert_in); });
    return;
  }
  rt.sent.resize(rows, m.hidden);
  rec.run("permute", [&] { permute(c.norm2, c.routing, rt.sent); });
  const double begin = wall_seconds();
  const auto ranks = static_cast<std::size_t>(rt.ranks());
  const std::size_t local = c.routing.tokens.size() / ranks;
  const std::vector<std::int64_t> counts = exchange_counts(*rt.group, c.routing);
  std::vector<std::int64_t> tokens;
  plan_sort(counts, local, c, tokens);
  c.send_rows.clear();
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto first = c.routing.tokens.begin() + static_cast<std::ptrdiff_t>(r * local);
    c.send_rows.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(local), std::int64_t{0}));
  }
  rt.received.resize(static_cast<std::int64_t>(c.to.size()), m.hidden);
  ExchangeTimes t = exchange_rows(*rt.group, rt.sent, c.send_rows, rt.received, c.receive_rows);
  t.last_arrival -= t.begin - begin; // waiting ended with the counts; what followed is transfer
  t.begin = begin;
  record(rec, "dispatch", t);
  c.expert_in.resize(c.offsets.back(), m.hidden);
  rec.run("sort_rows", [&] {
    zero_padding(c.expert_in, c.offsets, tokens);
    scatter_rows(rt.received, c.to, c.expert_in);
  });
}

void MoeLayer::experts_forward(LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  const std::int64_t rows = c.offsets.back();
  c.fc1_out.resize(rows, 2 * m.expert_ffn);
  c.act.resize(rows, m.expert_ffn);
  c.expert_out.resize(rows, m.hidden);
  rec.run("fc1", [&] { grouped_forward(c.expert_in, c.offsets, fc1_.value, c.fc1_out); });
  rec.run("act", [&] { swiglu_forward(c.fc1_out, c.act); });
  rec.run("fc2", [&] { grouped_forward(c.act, c.offsets, fc2_.value, c.expert_out); });
}

// Expert outputs back to the ranks of their tokens, in permuted order.
void MoeLayer::combine(LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  if (rt.group == nullptr) {
    std::swap(c.combined, c.expert_out);
    return;
  }
  rt.received.resize(static_cast<std::int64_t>(c.to.size()), m.hidden);
  rt.recorder->run("unsort_rows", [&] { gather_rows(c.expert_out, c.to, rt.received); });
  c.combined.resize(m.seq * m.topk, m.hidden);
  record(*rt.recorder, "combine", exchange_rows(*rt.group, rt.received, c.receive_rows, c.combined, c.send_rows));
}

void MoeLayer::backward(const Tensor& dy, Tensor& dx, LayerContext& c, LayerRuntime& rt) {
  combine_backward(dy, c, rt);
  experts_backward(c, rt);
  dispatch_backward(c, rt);
  router_backward(dy, c, rt);
  attention_backward(dx, c, rt);
  weight_gradients(c, rt);
}

// Leaves the gradient of the experts' output rows in rt.rows.
void MoeLayer::combine_backward(const Tensor& dy, LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  Tensor& drows = rt.group == nullptr ? rt.rows : rt.sent;
  drows.resize(m.seq * m.topk, m.hidden);
  rt.dweights.resize(static_cast<std::size_t>(m.seq * m.topk));
  rec.run("unpermute_bwd", [&] { unpermute_backward(dy, c.combined, c.routing, drows, rt.dweights); });
  if (rt.group == nullptr) return;
  rt.received.resize(static_cast<std::int64_t>(c.to.size()), m.hidden);
  record(rec, "combine_bwd", exchange_rows(*rt.group, rt.sent, c.send_rows, rt.received, c.receive_rows));
  rec.run("unsort_rows_bwd", [&] {
    rt.rows.resize(c.offsets.back(), m.hidden);
    rt.rows.set_zero();
    scatter_rows(rt.received, c.to, rt.rows);
  });
}

// Leaves the gradient of the experts' input in c.expert_out, whose content is no longer needed.
void MoeLayer::experts_backward(LayerContext& c, LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  const std::int64_t rows = c.offsets.back();
  rt.narrow.resize(rows, m.expert_ffn);
  rt.wide.resize(rows, 2 * m.expert_ffn);
  c.expert_out.resize(rows, m.hidden);
  rec.run("fc2_dgrad", [&] { grouped_dgrad(rt.rows, c.offsets, fc2_.value, rt.narrow); });
  rec.run("act_bwd", [&] { swiglu_backward(c.fc1_out, rt.narrow, rt.wide); });
  rec.run("fc1_dgrad", [&] { grouped_dgrad(rt.wide, c.offsets, fc1_.value, c.expert_out); });
}

// Leaves the gradient of norm_2's output, from the experts, in rt.a.
void MoeLayer::dispatch_backward(LayerContext& c, LayerRuntime& rt) const {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  const Tensor* drows = &c.expert_out;
  if (rt.group != nullptr) {
    rt.received.resize(static_cast<std::int64_t>(c.to.size()), m.hidden);
    rec.run("sort_rows_bwd", [&] { gather_rows(c.expert_out, c.to, rt.received); });
    rt.sent.resize(m.seq * m.topk, m.hidden);
    record(rec, "dispatch_bwd", exchange_rows(*rt.group, rt.received, c.receive_rows, rt.sent, c.send_rows));
    drows = &rt.sent;
  }
  rt.a.resize(m.seq, m.hidden);
  rec.run("permute_bwd", [&] { permute_backward(*drows, c.routing, rt.a); });
}

// Adds the router's share and passes norm_2 and the residual: the gradient of `middle` in rt.b.
void MoeLayer::router_backward(const Tensor& dy, LayerContext& c, LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  Recorder& rec = *rt.recorder;
  rt.logits.resize(m.seq, m.experts);
  rt.b.resize(m.seq, m.hidden);
  rec.run("router_topk_bwd", [&] { route_backward(c.routing, rt.dweights, rt.logits); });
  rec.run("router_dgrad", [&] { linear_dgrad(rt.logits, router_.value, rt.b); });
  rec.run("router_grad_add", [&] { add(rt.a, rt.b, rt.a); });
  rec.run("norm_2_bwd",
          [&] { rms_norm_backward(c.middle, gain(norm2_), c.inverse2, rt.a, rt.b, norm2_.grad.values()); });
  rec.run("residual_2_bwd", [&] { add(rt.b, dy, rt.b); });
}

void MoeLayer::attention_backward(Tensor& dx, LayerContext& c, LayerRuntime& rt) {
  const LoopModel& m = *rt.model;
  const AttentionDims d = m.attention();
  Recorder& rec = *rt.recorder;
  rt.a.resize(m.seq, d.out_width());
  rt.qkv.resize(m.seq, d.qkv_width());
  rt.c.resize(m.seq, m.hidden);
  rec.run("out_proj_dgrad", [&] { linear_dgrad(rt.b, out_.value, rt.a); });
  rec.run("core_bwd", [&] { calib::attention_backward(d, c.qkv, c.lse, c.attention, rt.a, rt.qkv, rt.attention); });
  rec.run("rope_bwd", [&] { rope(*rt.rope, rt.qkv, m.heads + m.kv_heads, true); });
  rec.run("qkv_dgrad", [&] { linear_dgrad(rt.qkv, qkv_.value, rt.c); });
  dx.resize(m.seq, m.hidden);
  rec.run("norm_1_bwd", [&] { rms_norm_backward(c.x, gain(norm1_), c.inverse1, rt.c, dx, norm1_.grad.values()); });
  rec.run("residual_1_bwd", [&] { add(dx, rt.b, dx); });
}

void MoeLayer::weight_gradients(LayerContext& c, LayerRuntime& rt) {
  Recorder& rec = *rt.recorder;
  rec.run("fc2_wgrad", [&] { grouped_wgrad(rt.rows, c.offsets, c.act, fc2_.grad); });
  rec.run("fc1_wgrad", [&] { grouped_wgrad(rt.wide, c.offsets, c.expert_in, fc1_.grad); });
  rec.run("out_proj_wgrad", [&] { linear_wgrad(rt.b, c.attention, out_.grad); });
  rec.run("qkv_wgrad", [&] { linear_wgrad(rt.qkv, c.norm1, qkv_.grad); });
  rec.run("router_wgrad", [&] { linear_wgrad(rt.logits, c.norm2, router_.grad); });
}

} // namespace tessella::calib
