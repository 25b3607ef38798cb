// From a row of measurements to the scenario that it ran. Nothing is fitted here and no row is treated apart: what a
// row leaves open gets these defaults, the same for all rows.
//
//   gpus_per_node 8; network as in measured_cluster.h; usable column ignored
//   mbs 1, cp 1, ep 1, vpp 1; dp = gpus / (tp * pp * cp)
//   etp       TP for frameworks named NeMo where that grid exists (Megatron's default), else 1
//   precision FP16 runs at the rate of BF16; FP8 is block-scaled only when the text says so
//   partition Megatron's even split; with the embedding and the loss counted as a layer each where only that divides;
//             else as even as possible, counted so (MTP layers count as one)
//   schedule  1f1b, interleaved when vpp > 1; combined 1F1B when `overlap` names EP, A2A or 1F1B
//   sharding  distributed optimizer with both of its collectives overlapped; FSDP gathers parameters in every pass
//   recompute none; FSDP recomputes all where none does not fit (Megatron's layouts are chosen to fit as they are)
//   TP overlap for dense models of NeMo and Megatron-Bridge (their recipes set it) and where `overlap` says AsyncTP
//   attention that of the profile; FlashAttention-2 for torchtitan and llm-foundry on Hopper
//   dispatcher all-to-all; "DeepEP" in any variant is DeepEP, HybridEP is HybridEP
//   host      100 us per kernel of a MoE layer (no pass over one is shorter), half of that with CUDA graphs
//   routing   balanced, unless the text says "natural": preset `natural`, seed 1
#pragma once

#include <string>
#include <variant>

#include "sim/domain/measured_run.h"
#include "sim/domain/model.h"
#include "sim/domain/profile.h"
#include "sim/domain/scenario.h"

namespace tessella {

struct NotModelled {
  std::string reason;
};

// `profile` is that of profile_gpu(run.gpu). O(stages + micro-batches) and one memory check per recompute choice.
std::variant<Scenario, NotModelled> measured_scenario(const MeasuredRun& run, const Model& model,
                                                      const Profile& profile);

// The row shards parameters (FSDP, ZeRO-3). How much of their gathers hides is a published mean, not a fit, so the row
// must not teach factors of kernels.
bool shards_parameters(const MeasuredRun& run);

// Seconds per step that the row measured: step_s, else from tokens_s_gpu, else from tflops_per_gpu by our count of
// model FLOPs. 0 when the row has none of them.
double measured_step_s(const MeasuredRun& run, const Scenario& scenario);

// The host's time in seconds behind one of our kernels of a MoE layer, for profiles that have none. One of ours stands
// for several small ones in an eager framework: Qwen3-30B on 64 H100 takes 200 ms per micro-batch of 12 layers,
// whatever its size (AWS p5: 27.9 s at micro-batch 1, 8.6 s at 4), other stacks a third of that.
inline constexpr double kHostOfMoeKernel = 100e-6;
ProfileEntry host_of_moe_kernels(double seconds = kHostOfMoeKernel);

} // namespace tessella
