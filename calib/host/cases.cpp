#include "calib/host/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tessella::calib {
namespace {

struct Row {
  const char* op;
  const char* kernel;
  std::unique_ptr<OpCase> (*make)(const OpShape&);
};

constexpr Row kRows[] = {
    {"gemm", "", linear_case},
    {"gemm_dgrad", "", linear_case},
    {"gemm_wgrad", "", linear_case},
    {"grouped_gemm", "", grouped_case},
    {"grouped_gemm_dgrad", "", grouped_case},
    {"grouped_gemm_wgrad", "", grouped_case},
    {"attention_fwd", "", attention_case},
    {"attention_bwd", "", attention_case},
    {"norm_fwd", "", norm_case},
    {"norm_bwd", "", norm_case},
    {"activation", "", activation_case},
    {"activation_bwd", "", activation_case},
    {"copy", "add", copy_case},
    {"copy", "rope", copy_case},
    {"permute", "permute", permutation_case},
    {"permute", "unpermute_bwd", permutation_case},
    {"permute", "sort", sort_case},
    {"permute", "unsort", sort_case},
    {"unpermute", "unpermute", permutation_case},
    {"unpermute", "permute_bwd", permutation_case},
    {"router", "topk", router_case},
    {"router", "topk_bwd", router_case},
    {"embedding", "lookup", embedding_case},
    {"embedding", "scatter_add", embedding_case},
    {"cross_entropy", "loss", loss_case},
    {"cross_entropy", "loss_bwd", loss_case},
    {"optimizer", "", optimizer_case},
};

// Multiply-adds, or elements where there are none: some ten milliseconds on a core.
constexpr double kMostProducts = 1e9;
constexpr double kMostElements = 2e6;

double size_of(const OpShape& s) {
  double size = 1.0;
  for (const auto& [name, value] : s.dims) {
    const bool counts = name != "skew" && name != "batch" && name != "kv_heads" && name != "experts" && name != "dim" &&
                        !(name == "seq" && s.op == "copy");
    if (counts && value > 0) size *= static_cast<double>(value);
    if (name == "seq" && s.op.starts_with("attention")) size *= static_cast<double>(value);
  }
  return size;
}

} // namespace

std::unique_ptr<OpCase> host_case(const OpShape& shape) {
  for (const Row& row : kRows)
    if (shape.op == row.op && shape.kernel == row.kernel) return row.make(shape);
  throw std::invalid_argument(fmt::format("the host has no kernel for {}", shape.text()));
}

bool host_can(const OpShape& shape, std::string& why_not) {
  const auto ops = host_ops();
  why_not = "the host has no kernel for it";
  if (std::find(ops.begin(), ops.end(), std::pair(shape.op, shape.kernel)) == ops.end()) return false;
  why_not = "too large for a CPU core";
  const bool products = shape.op.find("gemm") != std::string::npos || shape.op.starts_with("attention");
  return size_of(shape) <= (products ? kMostProducts : kMostElements);
}

std::vector<std::pair<std::string, std::string>> host_ops() {
  std::vector<std::pair<std::string, std::string>> ops;
  for (const Row& row : kRows) ops.emplace_back(row.op, row.kernel);
  return ops;
}

} // namespace tessella::calib
