// The kernels of a mixture-of-experts transformer on one CPU core, in fp32: forward, input gradient and weight gradient
// of everything a layer runs. Matrix products are Eigen's; the rest is plain loops that the compiler vectorises.
//
// Shapes: n tokens, h hidden, rows x cols as in Tensor. Outputs have their shape before the call, unless said
// otherwise; "+=" accumulates. Nothing allocates but attention's scratch, which the caller keeps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calib/host/tensor.h"

namespace tessella::calib {

// --- linear layers, w is [out, in] -----------------------------------------------------------------------------------
void linear_forward(const Tensor& x, const Tensor& w, Tensor& y); // y[n, out] = x w^T
void linear_dgrad(const Tensor& dy, const Tensor& w, Tensor& dx); // dx[n, in] = dy w
void linear_wgrad(const Tensor& dy, const Tensor& x, Tensor& dw); // dw += dy^T x

// The same for experts in one call: expert e owns rows [offsets[e], offsets[e + 1]) of x and y and rows
// [e * out, (e + 1) * out) of w. Offsets are multiples of kRowTile; rows that pad are zero.
inline constexpr std::int64_t kRowTile = 64;
std::vector<std::int64_t> padded_offsets(std::span<const std::int64_t> tokens); // experts + 1 values
void grouped_forward(const Tensor& x, std::span<const std::int64_t> offsets, const Tensor& w, Tensor& y);
void grouped_dgrad(const Tensor& dy, std::span<const std::int64_t> offsets, const Tensor& w, Tensor& dx);
void grouped_wgrad(const Tensor& dy, std::span<const std::int64_t> offsets, const Tensor& x, Tensor& dw);

// --- norms and elementwise -------------------------------------------------------------------------------------------
// y = x / rms(x) * gain over rows; inverse[i] = 1 / rms is kept for the backward pass.
void rms_norm_forward(const Tensor& x, std::span<const float> gain, Tensor& y, std::span<float> inverse);
void rms_norm_backward(const Tensor& x, std::span<const float> gain, std::span<const float> inverse, const Tensor& dy,
                       Tensor& dx, std::span<float> dgain); // dgain +=
void add(const Tensor& a, const Tensor& b, Tensor& sum);
// Angles of rotary positions: one row per position, `dim` / 2 columns.
struct RopeTable {
  RopeTable() = default;
  RopeTable(std::int64_t seq, std::int64_t dim);
  Tensor cosine;
  Tensor sine;
};
// Rotates the first `heads` heads of each row by its position in the sequence; backward: the other way.
void rope(const RopeTable& table, Tensor& x, std::int64_t heads, bool backward);
// in[r, 2f] = gate | up; out[r, f] = silu(gate) * up.
void swiglu_forward(const Tensor& in, Tensor& out);
void swiglu_backward(const Tensor& in, const Tensor& dout, Tensor& din);

// --- attention -------------------------------------------------------------------------------------------------------
struct AttentionDims {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t seq = 0; // rows of a sequence; a tensor holds whole sequences
  std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  std::int64_t out_width() const { return heads * head_dim; }
  auto operator<=>(const AttentionDims&) const = default;
};

struct AttentionScratch {
  Tensor scores;
  Tensor grads;
};

// Causal softmax attention; qkv[n, (H + 2G) d] = q | k | v. lse[n, H] is kept for the backward pass, which recomputes
// the scores.
void attention_forward(const AttentionDims& dims, const Tensor& qkv, Tensor& out, Tensor& lse, AttentionScratch& s);
void attention_backward(const AttentionDims& dims, const Tensor& qkv, const Tensor& lse, const Tensor& out,
                        const Tensor& dout, Tensor& dqkv, AttentionScratch& s);

// --- mixture of experts ----------------------------------------------------------------------------------------------
// Which experts a batch of tokens uses, and the rows of the permuted batch: sorted by expert, then by token.
struct Routing {
  std::int64_t topk = 0;
  std::vector<std::int32_t> experts; // [n * topk]
  std::vector<float> weights;        // [n * topk], softmax over the chosen logits
  std::vector<std::int64_t> tokens;  // [experts] rows per expert
  std::vector<std::int32_t> source;  // [rows] = [n * topk]: token * topk + slot that fills this permuted row
};

// Top-k of logits[n, E] by selection. With `forced` ([n * topk]) those experts are taken instead, as benchmarks do to
// control the load; the selection is done all the same.
void route(const Tensor& logits, std::int64_t topk, std::span<const std::int32_t> forced, Routing& routing);
// dlogits[n, E] from the gradients of the weights [n * topk].
void route_backward(const Routing& routing, std::span<const float> dweights, Tensor& dlogits);

// Permuted rows [n * topk, h] of x[n, h], and the weighted sum back; their backwards.
void permute(const Tensor& x, const Routing& routing, Tensor& rows);
void unpermute(const Tensor& rows, const Routing& routing, Tensor& y);
void permute_backward(const Tensor& drows, const Routing& routing, Tensor& dx);
// drows[r] = weight * dy[token]; dweights[r's slot] = rows[r] . dy[token]
void unpermute_backward(const Tensor& dy, const Tensor& rows, const Routing& routing, Tensor& drows,
                        std::span<float> dweights);
// out[to[r]] = in[r] for r in [0, to.size()): sorts received rows by local expert; and in[r] = out[to[r]].
void scatter_rows(const Tensor& in, std::span<const std::int64_t> to, Tensor& out);
void gather_rows(const Tensor& out, std::span<const std::int64_t> to, Tensor& in);

// --- ends of the model, optimizer ------------------------------------------------------------------------------------
void embedding_lookup(const Tensor& table, std::span<const std::int32_t> ids, Tensor& x);
void embedding_scatter_add(const Tensor& dx, std::span<const std::int32_t> ids, Tensor& dtable); // dtable +=
// Mean negative log-likelihood over the rows; lse[n] is kept.
double cross_entropy_forward(const Tensor& logits, std::span<const std::int32_t> targets, std::span<float> lse);
void cross_entropy_backward(const Tensor& logits, std::span<const std::int32_t> targets, std::span<const float> lse,
                            double scale, Tensor& dlogits); // scale * d(sum of row losses)
double squared_norm(std::span<const float> values);
struct AdamStep {
  float rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float clip = 1.0F; // multiplies the gradient
  std::int64_t step = 1;
};
void adam(const AdamStep& a, std::span<float> params, std::span<float> grads, std::span<float> mean,
          std::span<float> variance); // clears grads

} // namespace tessella::calib
