// A Hugging Face config.json as a model. One field may stand under several keys; the key of the model's own family wins
// over the generic one, with a warning that prints both values when they differ; a missing key is an error that lists
// every name it was looked for.
//
//   field           keys, the first wins
//   routed experts  n_routed_experts, num_local_experts, moe_num_experts, num_experts
//   expert width    moe_intermediate_size, expert_ffn_hidden_size, moe_ffn_hidden_size; else intermediate_size
//   (Mixtral) top-k           num_experts_per_tok, num_experts_per_token, moe_topk, moe_k, top_k_experts shared experts
//   shared_expert_intermediate_size, or (n_shared_experts, num_shared_experts, moe_num_shared_experts) x
//                   expert width
//   dense layers    first_k_dense_replace, moe_layer_freq (a number or a list), decoder_sparse_step, mlp_only_layers,
//                   interleave_moe_layer_step
//   attention       kv_lora_rank makes it MLA; layer_types, full_attention_interval: sliding window, gated delta net
//   layers one by   hybrid_override_pattern (Nemotron-H): M Mamba-2, * attention, - dense FFN, E experts; then
//   one             mamba_num_heads, mamba_head_dim, ssm_state_size, n_groups, conv_kernel, chunk_size
//   MTP             num_nextn_predict_layers, num_mtp_modules, mtp_num_layers; mtp_hybrid_override_pattern
// What a family does whatever its config says (query and key norms of Qwen3, biases of Qwen2, sinks of gpt-oss) is a
// table by model_type in import_hf.cpp.
#pragma once

#include <string>
#include <vector>

#include "sim/domain/model.h"

namespace tessella {

struct ImportedModel {
  Model model;
  std::vector<std::string> warnings;
};

// `name` becomes the model's. Throws InputError at `file_name`: not JSON, a required key missing, a value that is no
// count, or an architecture that has no place in a Model (Mamba-1, lightning attention, layers that differ in shape).
ImportedModel import_hf(const std::string& file_name, const std::string& text, const std::string& name);

} // namespace tessella
