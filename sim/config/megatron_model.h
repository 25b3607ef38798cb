// The model that Megatron-LM flags describe. Part of import_megatron.
#pragma once

#include <string>
#include <vector>

#include "sim/config/megatron_values.h"
#include "sim/domain/model.h"

namespace tessella {

// Throws InputError at the flag that is missing or wrong.
Model megatron_model(const MegatronValues& flags, const std::string& name, std::vector<std::string>& warnings);

} // namespace tessella
