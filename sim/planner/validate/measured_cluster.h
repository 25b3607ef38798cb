// The cluster a measured run used, as far as its row tells: a rail-optimised fabric with the GPU's usual links, one NIC
// per GPU, as many nodes as the run needs. One table for all rows; what the `network` column states about bandwidth
// wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/domain/cluster.h"
#include "sim/domain/measured_run.h"
#include "sim/domain/profile.h"

namespace tessella {

// "H100", "H100 (HBM2e 500W)", "A100" -> the GPU whose profile serves it; nothing for a GPU we have no profile of.
std::optional<std::string> profile_gpu(const std::string& gpu);
bool is_hopper(const std::string& profile_gpu);

// GB/s per GPU that a text such as "EFA 32x100G per node", "CX7 400 Gb/s per GPU" or "inter-node 800 Gb/s per node"
// states; nothing when it states none.
std::optional<double> stated_nic_gb_per_s(const std::string& network, std::int64_t gpus_per_node);

// `gpus` is a multiple of the node, or fits into one. profile_gpu(run.gpu) must have a value.
Cluster measured_cluster(const MeasuredRun& run, std::int64_t gpus);

// The profile of the card that the row names. HBM2e cards stream slower. A power cap lowers the sustained clock: of the
// board's power 200 W do not depend on it (leakage, memory, links; assumed), the rest goes with its cube (P ~ f V^2,
// V ~ f).
Profile measured_profile(const MeasuredRun& run, const Profile& profile);

// With TP communication overlap (Megatron's user buffers, PyTorch's AsyncTP) the gathers and scatters of a TP group run
// in `tp` pieces under the pieces of their GEMMs: the first stays exposed, and of the rest what copy engines leave.
void overlap_tp_collectives(Profile& profile, std::int64_t tp);

// Fully sharded data parallelism: parameters are gathered before every use (sim/cost/whole_pass.h).
void shard_parameters(Profile& profile);

// PyTorch's scaled_dot_product_attention runs FlashAttention-2, on Hopper at 0.55 of the rate of the kernels behind the
// profile's attention rows: 333 of 602 TFLOPS forward at head size 128 and 8,192 tokens, causal (FlashAttention's own
// H100 figures).
void use_flash_attention_2(Profile& profile);

// A profile of a GPU that has none, for calibration only: H100's with every rate scaled by the data sheets. Nothing for
// a GPU whose data sheet is not in the table.
std::optional<Profile> stand_in_profile(const std::string& gpu, const Profile& h100);

} // namespace tessella
