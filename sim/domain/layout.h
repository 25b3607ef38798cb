// How layers are spread over stages when the user does not hand us a plan: Megatron's rules and its layout string.
//   layout grammar: E embedding, t decoder layer, m MTP layer, L loss, | stage break, x*n and (..)*n repeat (groups do
//   not nest), commas ignored; stage k runs on pipeline rank k % PP as chunk k / PP.
// Source: Megatron-LM megatron/core/transformer/pipeline_parallel_layer_layout.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/domain/plan.h"

namespace tessella {

struct LayoutSpec {
  std::optional<std::string> layout = {};                             // pipeline_model_parallel_layout
  std::optional<std::int64_t> decoder_first_pipeline_num_layers = {}; // of the first pipeline rank, all its chunks
  std::optional<std::int64_t> decoder_last_pipeline_num_layers = {};
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  bool operator==(const LayoutSpec&) const = default;
};

// A layout string that does not parse; `column` counts from 1 inside the string.
class LayoutError : public std::runtime_error {
 public:
  LayoutError(int column, const std::string& message) : std::runtime_error(message), column_(column) {}
  int column() const { return column_; }

 private:
  int column_;
};

// The longest layout that is accepted, in symbols after all repeats are written out.
inline constexpr std::int64_t kMaxLayoutSymbols = 1'000'000;

// Parses a layout string. What a single string can get wrong is a LayoutError: unknown symbols, E not first or not
// exactly once, L not last or not exactly once, a decoder layer after an MTP layer, more than kMaxLayoutSymbols.
// Counts are not checked against a model here (legality.h does). O(length of the expansion).
Partition parse_layout(const std::string& layout);

// Stage s holds layers_per_stage[s] decoder layers; embedding on the first stage, MTP and loss on the last.
Partition partition_of(std::span<const std::int64_t> layers_per_stage, std::int64_t mtp_layers);

// num_layers over num_stages as evenly as possible, the longer stages first: 30 over 4 is 8 8 7 7.
std::vector<std::int64_t> balanced_split(std::int64_t num_layers, std::int64_t num_stages);

} // namespace tessella
