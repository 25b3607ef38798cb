#include "calib/bench/model_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace tessella::calib {
namespace {

// Only the order of jobs depends on these.
constexpr double kFlops = 8e14;
constexpr double kBytes = 3.5e12;
constexpr double kLinkBytes = 1e11;

using Dims = std::vector<std::pair<std::string, std::int64_t>>;

double d(std::int64_t n) {
  return static_cast<double>(n);
}

// Shapes of one (EP, TP) pair.
class Lister {
 public:
  Lister(const Model& model, const ShapeOptions& o, std::int64_t ep, std::int64_t tp, std::vector<Job>& jobs,
         std::set<std::string>& left_out)
      : m_(model), o_(o), ep_(ep), tp_(tp), n_(o.seq * o.micro_batch), n_sp_(n_ / tp), jobs_(jobs),
        left_out_(left_out) {}

  void list() {
    std::map<std::int32_t, double> layers;
    for (const std::int32_t kind : m_.layers) layers[kind] += 1.0;
    for (const auto& [kind, count] : layers) {
      times_ = count;
      const LayerKind& k = m_.kinds[static_cast<std::size_t>(kind)];
      std::visit([this](const auto& a) { attention(a); }, k.attention);
      std::visit([this](const auto& f) { ffn(f); }, k.ffn);
      norms();
    }
    times_ = 1.0;
    ends();
  }

 private:
  void add(const std::string& op, const std::string& kernel, const std::string& dtype, Dims dims, double seconds) {
    jobs_.push_back({{op, kernel, dtype, std::move(dims), 1}, seconds * times_});
  }
  void stream(const std::string& op, const std::string& kernel, Dims dims, double bytes) {
    add(op, kernel, "", std::move(dims), bytes / kBytes);
  }

  // The three passes of tokens x in -> out; the router and the output layer stay in bf16.
  void linear(std::int64_t tokens, std::int64_t in, std::int64_t out, bool fp8) {
    const double flops = 2.0 * d(tokens) * d(in) * d(out);
    const auto passes = [&](const std::string& dtype, double rate) {
      add("gemm", "", dtype, {{"m", tokens}, {"n", out}, {"k", in}}, flops / rate);
      add("gemm_dgrad", "", dtype, {{"m", tokens}, {"n", in}, {"k", out}}, flops / rate);
      add("gemm_wgrad", "", dtype, {{"m", out}, {"n", in}, {"k", tokens}}, flops / rate);
    };
    if (o_.bf16) passes("bf16", kFlops);
    if (o_.fp8 && fp8 && in % 16 == 0 && out % 16 == 0) passes("fp8", 2.0 * kFlops);
  }

  void grouped(std::int64_t experts, std::int64_t rows, std::int64_t in, std::int64_t out) {
    const double flops = 2.0 * d(rows) * d(in) * d(out);
    const auto passes = [&](const std::string& dtype, double rate) {
      for (const std::int64_t skew : {0, 50}) { // per cent above and below the mean, on a ramp over the experts
        const Dims dims = {{"experts", experts}, {"tokens", rows}, {"in", in}, {"out", out}, {"skew", skew}};
        for (const char* op : {"grouped_gemm", "grouped_gemm_dgrad", "grouped_gemm_wgrad"})
          add(op, "", dtype, dims, flops / rate);
      }
    };
    if (o_.bf16) passes("bf16", kFlops);
    if (o_.fp8) passes("fp8", 2.0 * kFlops);
  }

  void softmax(std::int64_t heads, std::int64_t kv_heads, std::int64_t qk, std::int64_t v) {
    const double flops = d(o_.micro_batch) * d(o_.seq) * d(o_.seq) * d(heads) * d(qk + v);
    const Dims dims = {{"batch", o_.micro_batch}, {"seq", o_.seq}, {"heads", heads},
                       {"kv_heads", kv_heads},    {"qk_dim", qk},  {"v_dim", v}};
    // Where cuDNN has no kernel, the machine measures gemm+softmax in its place and says so.
    add("attention_fwd", o_.attention, "bf16", dims, flops / kFlops);
    add("attention_bwd", o_.attention, "bf16", dims, 2.5 * flops / kFlops);
  }

  // Whether a size divides the model; one that does not is noted.
  bool divides(const char* size, std::int64_t by, std::int64_t n, const char* what) {
    if (n % by != 0) left_out_.insert(fmt::format("{} {} does not divide {} {}", size, by, n, what));
    return n % by == 0;
  }
  bool tp_divides(std::int64_t heads) { return divides("TP", tp_, heads, "heads"); }

  void attention(const GroupedQueryAttention& a) {
    if (!tp_divides(a.heads)) return;
    const std::int64_t q = a.heads / tp_ * a.head_dim;
    const std::int64_t kv_heads = std::max<std::int64_t>(1, a.kv_heads / tp_);
    linear(n_, m_.hidden_size, (a.output_gate ? 2 : 1) * q + 2 * kv_heads * a.head_dim, true);
    linear(n_, q, m_.hidden_size, true);
    softmax(a.heads / tp_, kv_heads, a.head_dim, a.head_dim);
    const std::int64_t rotated = q + kv_heads * a.head_dim;
    stream("copy", "rope", {{"rows", n_}, {"cols", rotated}, {"dim", a.head_dim}, {"seq", o_.seq}},
           4.0 * d(n_) * d(rotated));
    if (a.qk_norm) norm(n_, rotated);
  }

  void attention(const MultiLatentAttention& a) {
    if (!tp_divides(a.heads)) return;
    const std::int64_t heads = a.heads / tp_;
    const std::int64_t qk = a.qk_nope_head_dim + a.qk_rope_head_dim;
    if (a.q_lora_rank) {
      linear(n_sp_, m_.hidden_size, *a.q_lora_rank, true);
      norm(n_sp_, *a.q_lora_rank);
    }
    linear(n_sp_, m_.hidden_size, a.kv_lora_rank + a.qk_rope_head_dim, true);
    norm(n_sp_, a.kv_lora_rank);
    linear(n_, a.q_lora_rank.value_or(m_.hidden_size), heads * qk, true);
    linear(n_, a.kv_lora_rank, heads * (a.qk_nope_head_dim + a.v_head_dim), true);
    linear(n_, heads * a.v_head_dim, m_.hidden_size, true);
    softmax(heads, heads, qk, a.v_head_dim);
  }

  // The delta rule itself has no kernel in CUDA's libraries.
  void attention(const GatedDeltaNet& a) {
    if (!tp_divides(a.key_heads) || !tp_divides(a.value_heads)) return;
    const std::int64_t q = a.key_heads / tp_ * a.key_head_dim;
    const std::int64_t u = a.value_heads / tp_ * a.value_head_dim;
    linear(n_, m_.hidden_size, 2 * q + 2 * u, true);
    linear(n_, u, m_.hidden_size, true);
    norm(n_, u);
  }

  // Nor has the chunked scan.
  void attention(const Mamba2& a) {
    if (!tp_divides(a.mamba_num_heads) || !tp_divides(a.n_groups)) return;
    const std::int64_t inner = a.inner_size() / tp_;
    linear(n_, m_.hidden_size, a.in_proj_size() / tp_, true);
    linear(n_, inner, m_.hidden_size, true);
    norm(n_, inner);
  }
  void attention(const NoAttention&) {}
  void ffn(const NoFfn&) {}

  void mlp(std::int64_t tokens, std::int64_t width, bool gated) {
    linear(tokens, m_.hidden_size, (gated ? 2 : 1) * width, true);
    linear(tokens, width, m_.hidden_size, true);
    activation(tokens, width);
  }
  void ffn(const DenseFfn& f) {
    if (f.ffn_hidden_size % tp_ == 0) mlp(n_, f.ffn_hidden_size / tp_, f.gated);
  }

  void ffn(const MoeFfn& f) {
    const std::int64_t rows = n_sp_ * f.router_topk;
    linear(n_sp_, m_.hidden_size, f.num_experts, false);
    const Dims router = {{"tokens", n_sp_}, {"topk", f.router_topk}, {"experts", f.num_experts}};
    stream("router", "topk", router, 4.0 * d(n_sp_) * d(f.num_experts));
    stream("router", "topk_bwd", router, 4.0 * d(n_sp_) * d(f.num_experts));
    const std::int64_t in = expert_input_size(m_.hidden_size, f);
    if (f.moe_latent_size > 0) {
      linear(n_sp_, m_.hidden_size, in, true);
      linear(n_sp_, in, m_.hidden_size, true);
    }
    const Dims permutation = {{"tokens", n_sp_}, {"topk", f.router_topk}, {"experts", f.num_experts}, {"cols", in}};
    const double moved = 2.0 * d(1 + f.router_topk) * d(n_sp_) * d(in);
    for (const char* kernel : {"permute", "unpermute_bwd"}) stream("permute", kernel, permutation, moved);
    for (const char* kernel : {"unpermute", "permute_bwd"}) stream("unpermute", kernel, permutation, moved);
    if (f.shared_ffn_hidden_size > 0 && f.shared_ffn_hidden_size % tp_ == 0)
      mlp(n_, f.shared_ffn_hidden_size / tp_, f.gated);
    if (!divides("EP", ep_, f.num_experts, "experts")) return;
    const std::int64_t experts = f.num_experts / ep_;
    grouped(experts, rows, in, (f.gated ? 2 : 1) * f.moe_ffn_hidden_size);
    grouped(experts, rows, f.moe_ffn_hidden_size, in);
    activation(rows, f.moe_ffn_hidden_size);
    if (o_.fp8) stream("cast_fp8", "", {{"rows", n_sp_}, {"cols", in}}, 3.0 * d(n_sp_) * d(in));
  }

  void norm(std::int64_t rows, std::int64_t cols) {
    stream("norm_fwd", "", {{"rows", rows}, {"cols", cols}}, 4.0 * d(rows) * d(cols));
    stream("norm_bwd", "", {{"rows", rows}, {"cols", cols}}, 6.0 * d(rows) * d(cols));
  }
  void norms() {
    norm(n_sp_, m_.hidden_size);
    norm(n_sp_, m_.hidden_size);
    stream("copy", "add", {{"rows", n_sp_}, {"cols", m_.hidden_size}}, 5.0 * 6.0 * d(n_sp_) * d(m_.hidden_size));
  }
  void activation(std::int64_t rows, std::int64_t cols) {
    stream("activation", "", {{"rows", rows}, {"cols", cols}}, 6.0 * d(rows) * d(cols));
    stream("activation_bwd", "", {{"rows", rows}, {"cols", cols}}, 10.0 * d(rows) * d(cols));
  }

  void ends() {
    const std::int64_t vocab = m_.vocab_size / tp_;
    linear(n_, m_.hidden_size, vocab, false);
    stream("embedding", "lookup", {{"rows", n_}, {"cols", m_.hidden_size}, {"vocab", vocab}},
           4.0 * d(n_) * d(m_.hidden_size));
    stream("embedding", "scatter_add", {{"rows", n_}, {"cols", m_.hidden_size}, {"vocab", vocab}},
           10.0 * d(n_) * d(m_.hidden_size));
    stream("cross_entropy", "loss", {{"rows", n_}, {"vocab", vocab}}, 6.0 * d(n_) * d(vocab));
    stream("cross_entropy", "loss_bwd", {{"rows", n_}, {"vocab", vocab}}, 4.0 * d(n_) * d(vocab));
    for (const std::int64_t params : {10'000'000, 100'000'000})
      stream("optimizer", "", {{"params", params}}, 34.0 * d(params));
    for (const std::int64_t bytes : {std::int64_t{1} << 26, std::int64_t{1} << 32})
      stream("memcpy", "device_to_device", {{"bytes", bytes}}, 2.0 * d(bytes));
  }

  const Model& m_;
  const ShapeOptions& o_;
  std::int64_t ep_;
  std::int64_t tp_;
  std::int64_t n_;    // tokens of a TP group
  std::int64_t n_sp_; // of a rank in the sequence-parallel region
  double times_ = 1.0;
  std::vector<Job>& jobs_;
  std::set<std::string>& left_out_;
};

// Cube of 8192 for the peak, and pairs for contention: op kinds x SMs held x GB/s streamed.
void add_reference_points(const ShapeOptions& o, std::vector<Job>& jobs) {
  const Dims cube = {{"m", 8192}, {"n", 8192}, {"k", 8192}};
  const double flops = 2.0 * 8192.0 * 8192.0 * 8192.0;
  for (const char* kernel : {"", "best"}) { // first of all GEMMs
    if (o.bf16) jobs.push_back({{"gemm", kernel, "bf16", cube, 1}, 1e3 * flops / kFlops});
    if (o.fp8) jobs.push_back({{"gemm", kernel, "fp8", cube, 1}, 1e3 * flops / kFlops});
  }
  for (const std::int64_t sms : {0, 8, 16, 24, 32}) {
    for (const std::int64_t gbps : {0, 100, 200, 400}) {
      if (sms == 0 && gbps > 0) continue; // nobody streams without an SM
      const auto pair = [&](const char* kernel, Dims dims) {
        dims.emplace_back("sms", sms);
        dims.emplace_back("gbps", gbps);
        jobs.push_back({{"overlap", kernel, "bf16", std::move(dims), 1}, flops / kFlops});
      };
      pair("gemm", {{"m", 4096}, {"n", 4096}, {"k", 4096}});
      pair("norm_fwd", {{"rows", 8192}, {"cols", 4096}});
      pair("copy", {{"rows", 8192}, {"cols", 4096}});
    }
  }
}

void add_collectives(const Model& model, const ShapeOptions& o, std::vector<Job>& jobs) {
  const double message = 2.0 * d(o.seq * o.micro_batch) * d(model.hidden_size);
  for (std::int64_t ranks = 2; ranks <= o.ranks; ranks *= 2) {
    for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 30; bytes *= 4) {
      // The nearer to the model's own messages, the more it says.
      const double distance = std::max(d(bytes), message) / std::min(d(bytes), message);
      for (const char* op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce", "send_recv"})
        jobs.push_back({{op, "nccl", "", {{"bytes", bytes}}, ranks}, message / kLinkBytes / distance});
      const Dims uneven = {{"bytes", bytes}, {"skew", 50}}; // per cent above and below the mean, as of experts
      jobs.push_back({{"all_to_all", "nccl", "", uneven, ranks}, message / kLinkBytes / distance});
    }
  }
}

struct Listing {
  std::vector<Job> jobs;
  std::set<std::string> left_out;
};

Listing list_sizes(const Model& model, const ShapeOptions& options) {
  Listing all;
  const std::int64_t tokens = options.seq * options.micro_batch;
  for (const std::int64_t ep : options.ep)
    for (const std::int64_t tp : options.tp) {
      std::vector<Job> none; // whatever else does not divide is said all the same
      const bool divides = tokens % tp == 0;
      if (!divides) all.left_out.insert(fmt::format("TP {} does not divide {} tokens", tp, tokens));
      Lister(model, options, ep, tp, divides ? all.jobs : none, all.left_out).list();
    }
  return all;
}

} // namespace

std::vector<std::string> sizes_left_out(const Model& model, const ShapeOptions& options) {
  const std::set<std::string> lines = list_sizes(model, options).left_out;
  return {lines.begin(), lines.end()};
}

std::vector<Job> model_shapes(const Model& model, const ShapeOptions& options) {
  std::vector<Job> jobs = list_sizes(model, options).jobs;
  if (options.reference) add_reference_points(options, jobs);
  add_collectives(model, options, jobs);
  return jobs;
}

} // namespace tessella::calib
