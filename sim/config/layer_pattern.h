// Layers written as one letter each, as in Nemotron-H's hybrid_override_pattern, "MEM*E":
//   M  a Mamba-2 mixer    *  an attention    -  a dense FFN    E  a mixture of experts
// Each stands for a layer of that half alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/node.h"
#include "sim/domain/model.h"

namespace tessella {

// What a letter stands for, in words; nothing for another letter.
std::optional<std::string> pattern_letter(char letter);
// "M (a Mamba-2 mixer), ...", for messages.
std::string pattern_letters();

// Per letter the kind it means, an index into `kinds`. Throws InputError at the letter that is unknown, that no kind
// fits, or that two fit. O(letters * kinds).
std::vector<std::int32_t> layers_of_pattern(const Node& node, const std::vector<LayerKind>& kinds);

} // namespace tessella
