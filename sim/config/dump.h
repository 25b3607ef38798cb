// The canonical text of a value: one spelling, keys in the order of the schema, defaults left out. Loading it gives an
// equal value (for values that a loader can return).
#pragma once

#include <string>

#include "sim/domain/cluster.h"
#include "sim/domain/model.h"
#include "sim/domain/profile.h"

namespace tessella {

std::string to_yaml(const Model& model);
std::string to_yaml(const Cluster& cluster);
std::string to_yaml(const Profile& profile);

} // namespace tessella
