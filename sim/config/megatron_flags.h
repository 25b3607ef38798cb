// What each Megatron-LM flag means for the cost of a step. Part of import_megatron.
#pragma once

#include <string_view>

namespace tessella {

enum class FlagRole {
  used,
  ignored, // known, and without an effect on the cost of a step
  refused, // changes the cost in a way that is not modelled
  unknown,
};

// `flag` without dashes in front. O(table).
FlagRole megatron_flag_role(std::string_view flag);

} // namespace tessella
