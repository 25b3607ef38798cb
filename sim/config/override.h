// `--set a.b.0.c=v`: assignments to a parsed tree, before anything is read from it. The value is YAML ("8", "2 %",
// "[moe_act, mlp]", "{kind: balanced}"); maps on the way are created, list items are chosen by their index.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/node.h"

namespace tessella {

// Assignments that begin with one of these and a dot go to the file that the experiment names, not to the experiment:
// "topology.node.nic.bandwidth=25 GB/s", "model.vocab_size=32000", "profile.gpu.hbm=4800 GB/s".
inline constexpr std::array<std::string_view, 3> kReferencedFiles = {"model", "topology", "profile"};

// Applies, in order, the assignments that are for this tree: the experiment's own, or those below `file`, one of
// kReferencedFiles. Throws InputError with "--set a.b=v" as its position.
void apply_overrides(Node& root, std::span<const std::string> assignments, std::string_view file = {});

} // namespace tessella
