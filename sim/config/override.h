// `--set a.b.0.c=v`: assignments to a parsed tree, before anything is read from it. The value is YAML ("8", "2 %",
// "[moe_act, mlp]", "{kind: balanced}"); maps on the way are created, list items are chosen by their index.
#pragma once

#include <span>
#include <string>

#include "sim/config/node.h"

namespace tessella {

// Applies the assignments in order. Throws InputError with "--set a.b=v" as its position.
void apply_overrides(Node& root, std::span<const std::string> assignments);

} // namespace tessella
