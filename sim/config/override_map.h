// Overrides written as a map in a file: {parallelism.tp: 4, routing: {kind: balanced}}.
#pragma once

#include <string>
#include <vector>

#include "sim/config/node.h"

namespace tessella {

// A node as one line of YAML that reads back as the same node.
std::string flow_text(const Node& node);

// The key as a path such as parallelism.tp; InputError when it cannot be one.
std::string path_of_key(const Node& key);

// "a.b=v" of each entry. Throws InputError at a key that is no path, or when the node is not a map.
std::vector<std::string> read_overrides(const Node& node);

} // namespace tessella
