// One op at one shape, ready to be measured. Every bench, on the GPU and on the host, is this interface: the same four
// functions. (nccl-tests' pattern: what it moves, how its data begins, how it runs, whether the result is right.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessella::calib {

// What is measured. `op` and `dtype` are those of a profile row (sim/cost/kernel_costs.h, sim/cost/collective.h);
// `kernel` says which kernel it is where a row serves several ("rope" and "add" are both `copy`).
struct OpShape {
  std::string op;
  std::string kernel;
  std::string dtype;
  std::vector<std::pair<std::string, std::int64_t>> dims;
  std::int64_t ranks = 1; // of a collective
  auto operator<=>(const OpShape&) const = default;

  // 0 when there is no such dimension.
  std::int64_t dim(const std::string& name) const;
  // "m=4096;n=512;k=128"
  std::string dims_text() const;
  // "gemm_dgrad bf16 m=4096;n=512;k=128"
  std::string text() const;
};

// The inverse of dims_text(). Throws std::invalid_argument on other text.
std::vector<std::pair<std::string, std::int64_t>> parse_dims(const std::string& text);

// Tokens of each expert of a grouped GEMM (dims experts, tokens, skew): on a ramp from skew per cent below the mean for
// the first expert to skew per cent above it for the last; they sum to `tokens`.
std::vector<std::int64_t> expert_tokens(const OpShape& shape);

struct Work {
  double flops = 0.0;        // executed, 1 multiply-add = 2
  double bytes = 0.0;        // as the simulator counts this op (bf16 elements), the x of a bandwidth fit
  std::size_t footprint = 0; // bytes one input set occupies in memory, outputs included
};

class OpCase {
 public:
  virtual ~OpCase() = default;
  virtual Work work() const = 0;
  // Allocates `sets` sets of inputs and fills them with random numbers; outputs are poisoned. Throws OutOfMemory.
  virtual void prepare(std::size_t sets) = 0;
  // Runs once on a set; may return before the device has finished.
  virtual void launch(std::size_t set) = 0;
  // Relative error of set 0's result, |out - ref| / |ref| in the Frobenius norm, against a reference in higher
  // precision. Called after launch(0) has completed.
  virtual double verify() = 0;
  // How far a correct kernel may be from its reference.
  virtual double tolerance(const OpShape& shape) const;
};

// By the type of the elements: bf16 0.02, fp8 0.1, else (fp32) 1e-4.
double error_limit(const std::string& dtype);

// The device has not enough memory for a case.
class OutOfMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A kernel computed something else than its reference: its time means nothing.
class WrongResult : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace tessella::calib
