// Which kernels a model needs, at which shapes, for a range of EP and TP sizes: what `tessella-calib run` measures, and
// no more. The same chains as sim/cost/layer_ops.h prices, as shapes (dims as in calib/host/cases.h; attention also
// batch, qk_dim and v_dim).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calib/protocol/work_queue.h"
#include "sim/domain/model.h"

namespace tessella::calib {

struct ShapeOptions {
  std::vector<std::int64_t> ep = {8};
  std::vector<std::int64_t> tp = {1};
  std::int64_t seq = 4096;
  std::int64_t micro_batch = 1;
  bool bf16 = true;
  bool fp8 = true;
  bool reference = true;           // a cube of 8192 for the peak; GEMM, norm and copy beside a stand-in that holds SMs
  std::string attention = "cudnn"; // kernel of softmax attention; "" on a host
  std::int64_t ranks = 1;          // collectives over 2, 4, ... up to so many ranks
};

// Jobs in no particular order; order_by_information() sorts them. Sizes that do not divide the model (EP > experts,
// heads / TP) are left out. Roofline of a Hopper GPU for the weights.
std::vector<Job> model_shapes(const Model& model, const ShapeOptions& options);

// What model_shapes left out, a line each: "EP 7 does not divide 8 experts".
std::vector<std::string> sizes_left_out(const Model& model, const ShapeOptions& options);

} // namespace tessella::calib
