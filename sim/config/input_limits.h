// The largest value each input may have. They are far above any real job; beyond them a number is a slip of the pen,
// and everything downstream may rely on products of legal values to fit 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace tessella {

struct Limit {
  std::string_view name; // the key it belongs to
  std::int64_t max;
};

inline constexpr std::array kLimits = std::to_array<Limit>({
    // files
    {"max_file_bytes", 2 << 20}, // yaml-cpp may hold some 240 bytes per bracket that is not closed
    {"max_trace_bytes", 256 << 20},
    {"max_result_bytes", 64 << 20}, // of run --json, every rank of a large job included
    {"max_nodes", 100'000},
    {"max_depth", 32},
    {"max_text", 1 << 16}, // characters of one string
    // model
    {"hidden_size", 1 << 17},
    {"vocab_size", 1 << 24},
    {"heads", 1 << 14},
    {"kv_heads", 1 << 14},
    {"head_dim", 1 << 14},
    {"window", 1 << 27},
    {"q_lora_rank", 1 << 17},
    {"kv_lora_rank", 1 << 17},
    {"qk_nope_head_dim", 1 << 14},
    {"qk_rope_head_dim", 1 << 14},
    {"v_head_dim", 1 << 14},
    {"key_heads", 1 << 14},
    {"value_heads", 1 << 14},
    {"key_head_dim", 1 << 14},
    {"value_head_dim", 1 << 14},
    {"conv_kernel", 1 << 10},
    {"mamba_num_heads", 1 << 14},
    {"mamba_head_dim", 1 << 14},
    {"ssm_state_size", 1 << 14},
    {"n_groups", 1 << 14},
    {"chunk_size", 1 << 14},
    {"ffn_hidden_size", 1 << 20},
    {"num_experts", 1 << 14},
    {"router_topk", 1 << 8},
    {"moe_ffn_hidden_size", 1 << 20},
    {"shared_ffn_hidden_size", 1 << 20},
    {"moe_latent_size", 1 << 17},
    {"router_groups", 1 << 14},
    {"router_topk_groups", 1 << 14},
    {"kinds", 1 << 10},
    {"count", 1 << 14},                    // of layers in a row
    {"repeat", 1 << 14},                   // of a block of layers
    {"layers", 1 << 14},                   // in all
    {"num_layers", 64},                    // of multi-token prediction
    {"parameters", std::int64_t{1} << 50}, // of a model, about 10^15
    // cluster
    {"nodes", 1 << 24},
    {"gpus", 1 << 24}, // of a node, and of the cluster
    {"nics", 1 << 10},
    {"planes", 1 << 6},
    {"nodes_per_leaf", 1 << 24},
    {"nodes_per_group", 1 << 24},
    {"switches_per_group", 1 << 16},
    {"links_per_group_pair", 1 << 16},
    {"oversubscription", 1000},
    {"sms", 1 << 12},
    {"rows", std::int64_t{1} << 40},
    // experiment
    {"world_size", 1 << 24},
    {"tensor_model_parallel_size", 1 << 12},
    {"context_parallel_size", 1 << 12},
    {"pipeline_model_parallel_size", 1 << 12},
    {"num_virtual_stages_per_pipeline_rank", 1 << 10},
    {"expert_model_parallel_size", 1 << 14},
    {"expert_tensor_parallel_size", 1 << 12},
    {"micro_batch_size", 1 << 16},
    {"global_batch_size", 1 << 24},
    {"seq_length", 1 << 27},
    {"micro_batch_tokens", 1 << 30}, // micro_batch_size * seq_length
    {"decoder_first_pipeline_num_layers", 1 << 14},
    {"decoder_last_pipeline_num_layers", 1 << 14},
    {"microbatch_group_size_per_vp_stage", 1 << 24},
    {"pool", 1 << 12},
    {"rank", 1 << 24},
    {"rail", 1 << 10},
    {"every", 1'000'000},
    {"max_swaps", 1 << 14},
    {"redundant", 1 << 10},
    {"patience", 1'000'000},
    {"steps", 1'000'000},
    {"warm_up", 1'000'000},
    {"capacity_factor", 1 << 10},
    {"seed", INT64_MAX},
    {"sigma", 4}, // standard deviations of log-weights
});

// The limit of that name; a name that is not in the table does not compile.
consteval std::int64_t limit(std::string_view name) {
  for (const Limit& l : kLimits)
    if (l.name == name) return l.max;
  throw std::logic_error("no such limit");
}

inline constexpr std::int64_t kMaxFileBytes = limit("max_file_bytes");

// Physical quantities, SI. The lower bounds keep size / rate below the longest representable duration.
inline constexpr double kMinBandwidth = 1e6;  // 1 MB/s
inline constexpr double kMaxBandwidth = 1e18; // 1 EB/s
inline constexpr double kMinFlopRate = 1e9;   // 1 GFLOPS
inline constexpr double kMaxFlopRate = 1e21;  // 1,000,000 PFLOPS
inline constexpr double kMaxTime = 1000.0;    // s; below it every picosecond count survives a trip through a double
inline constexpr double kMaxSize = 0x1p60;    // bytes
inline constexpr double kMaxPlain = 1e15;     // dimensionless parameters

} // namespace tessella
