// Spellings of experiment keys. Megatron's name is the key; the others are accepted because people have them at hand.
#pragma once

#include <array>

#include "sim/config/reader.h"

namespace tessella {

inline constexpr auto kExperimentAliases = std::to_array<Alias>({
    {"tp", "tensor_model_parallel_size"},
    {"tp_size", "tensor_model_parallel_size"},
    {"tensor_parallel_degree", "tensor_model_parallel_size"},
    {"cp", "context_parallel_size"},
    {"cp_size", "context_parallel_size"},
    {"context_parallel_degree", "context_parallel_size"},
    {"pp", "pipeline_model_parallel_size"},
    {"pp_size", "pipeline_model_parallel_size"},
    {"pipeline_parallel_degree", "pipeline_model_parallel_size"},
    {"vpp", "num_virtual_stages_per_pipeline_rank"},
    {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
    {"ep", "expert_model_parallel_size"},
    {"ep_size", "expert_model_parallel_size"},
    {"expert_parallel_degree", "expert_model_parallel_size"},
    {"etp", "expert_tensor_parallel_size"},
    {"etp_size", "expert_tensor_parallel_size"},
    {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    {"mbs", "micro_batch_size"},
    {"gbs", "global_batch_size"},
    {"seq", "seq_length"},
    {"moe_token_dispatcher_type", "token_dispatcher_type"},
    {"moe_expert_capacity_factor", "capacity_factor"},
    {"moe_pad_expert_input_to_capacity", "pad_to_capacity"},
    {"microbatch_group_size_per_virtual_pipeline_stage", "microbatch_group_size_per_vp_stage"},
});

} // namespace tessella
