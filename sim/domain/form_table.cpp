// The list of forms that a profile may name, with the dimension of every parameter.
#include "sim/domain/kernel_forms.h"

namespace tessella {

const std::vector<FormSpec>& form_table() {
  using D = Dimension;
  static const std::vector<FormSpec> table = {
      {"gemm_tiles",
       "launch + max(waves of the best tile, bytes / hbm)",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"hbm", D::bandwidth},
        {"sms", D::plain},
        {"k_half", D::plain},
        {"tile_half", D::plain}}},
      {"grouped_gemm_tiles",
       "gemm_tiles over experts, each padded to the tile; weights are read once",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"hbm", D::bandwidth},
        {"sms", D::plain},
        {"k_half", D::plain},
        {"tile_half", D::plain}}},
      {"attention_rate",
       "launch + max(all blocks / SMs, longest block) at peak * dim / (dim + dim_half)",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"sms", D::plain},
        {"qk_matmuls", D::plain},
        {"v_matmuls", D::plain},
        {"kv_half", D::plain},
        {"dim_half", D::plain}}},
      {"gdn_rate",
       "launch + max(flops / peak, bytes / hbm, chunks in sequence * chunk_latency)",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"hbm", D::bandwidth},
        {"chunk", D::plain},
        {"chunk_latency", D::seconds},
        {"flops_factor", D::plain},
        {"bytes_factor", D::plain}}},
      {"stream", "launch + bytes / bandwidth", {{"launch", D::seconds}, {"bandwidth", D::bandwidth}}},
      {"collective",
       "latency + latency_per_rank * (ranks - 1) + (bytes + half_size) / (link * efficiency)",
       {{"latency", D::seconds},
        {"latency_per_rank", D::seconds},
        {"efficiency", D::plain},
        {"half_size", D::bytes},
        {"sms", D::plain, false}}},
      {"constant", "seconds", {{"seconds", D::seconds}}},
      {"factor", "a plain number", {{"factor", D::plain}}},
      {"uniform_stage",
       "seconds of a pipeline rank's whole share per micro-batch",
       {{"forward", D::seconds},
        {"backward", D::seconds},
        {"input_grad", D::seconds, false},
        {"weight_grad", D::seconds, false},
        {"message", D::bytes, false}}},
      {"contention",
       "time factors of compute beside a communication kernel",
       {{"gemm", D::plain}, {"membound", D::plain}, {"waiting", D::plain}, {"communication", D::plain, false}}},
  };
  return table;
}

} // namespace tessella
