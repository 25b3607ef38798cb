// How layers are spread over stages when the user does not hand us a plan: Megatron's rules and its layout string.
//   layout grammar: E embedding, t decoder layer, m MTP layer, L loss, | stage break, x*n and (..)*n repeat,
//   commas ignored; stage k runs on pipeline rank k % PP.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/domain/plan.h"

namespace tessella {

struct LayoutSpec {
  std::optional<std::string> layout;                             // pipeline_model_parallel_layout
  std::optional<std::int64_t> decoder_first_pipeline_num_layers; // of the first pipeline rank, all its chunks
  std::optional<std::int64_t> decoder_last_pipeline_num_layers;
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

// Parses a layout string; counts are not checked against a model here. O(length of the expansion); an expansion of
// more than 1,000,000 tokens is a LayoutError.
Partition parse_layout(const std::string& layout);

} // namespace tessella
