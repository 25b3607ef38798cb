// The list of forms that a profile may name, with the dimension of every parameter: one long function, because it is a
// table.
#include "sim/domain/kernel_forms.h"

namespace tessella {

namespace {

std::vector<FormParam> gemm_params() {
  using D = Dimension;
  return {{"peak", D::flop_rate}, {"launch", D::seconds},  {"hbm", D::bandwidth},     {"sms", D::plain},
          {"k_half", D::plain},   {"tile_half", D::plain}, {"pick", D::plain, false}, {"roof", D::plain, false}};
}

} // namespace

const std::vector<FormSpec>& form_table() {
  using D = Dimension;
  static const std::vector<FormSpec> table = {
      {"gemm_tiles", "launch + max(waves of the best tile, bytes / hbm)", gemm_params()},
      {"grouped_gemm_tiles", "gemm_tiles over experts, each padded to the tile", gemm_params()},
      {"attention_rate",
       "launch + max(work of the busiest SM at peak * dim / (dim + dim_half), bytes / hbm)",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"hbm", D::bandwidth},
        {"sms", D::plain},
        {"qk_matmuls", D::plain},
        {"v_matmuls", D::plain},
        {"kv_half", D::plain},
        {"dim_half", D::plain},
        {"bytes_factor", D::plain}}},
      {"gdn_rate",
       "launch + forward flops / peak + chunks in sequence * chunk_latency",
       {{"peak", D::flop_rate},
        {"launch", D::seconds},
        {"sms", D::plain},
        {"chunk", D::plain},
        {"chunk_latency", D::seconds}}},
      {"ssd_rate",
       "launch + forward flops / peak + state_passes * state bytes / hbm",
       {{"peak", D::flop_rate}, {"launch", D::seconds}, {"hbm", D::bandwidth}, {"state_passes", D::plain}}},
      {"stream", "launch + bytes / bandwidth", {{"launch", D::seconds}, {"bandwidth", D::bandwidth}}},
      {"collective",
       "latency + latency_per_rank * (ranks - 1) + (bytes + half_size * bytes / (bytes + onset)) / (link * efficiency "
       "* "
       "(1 - pair_loss / (ranks - 1)))",
       {{"latency", D::seconds},
        {"latency_per_rank", D::seconds},
        {"efficiency", D::plain},
        {"half_size", D::bytes},
        {"onset", D::bytes, false},
        {"pair_loss", D::plain, false},
        {"sms", D::plain, false}}},
      {"constant", "seconds", {{"seconds", D::seconds}}},
      {"factor", "a plain number", {{"factor", D::plain}}},
      {"spread", "5 % and 95 % quantiles of measured over predicted", {{"low", D::plain}, {"high", D::plain}}},
      {"uniform_stage",
       "seconds of a pipeline rank's whole share per micro-batch",
       {{"forward", D::seconds},
        {"backward", D::seconds},
        {"input_grad", D::seconds, false},
        {"weight_grad", D::seconds, false},
        {"message", D::bytes, false}}},
      {"contention",
       "time factors of compute beside a communication kernel",
       {{"gemm", D::plain},
        {"membound", D::plain},
        {"norm", D::plain},
        {"waiting", D::plain},
        {"communication", D::plain}}},
  };
  return table;
}

} // namespace tessella
