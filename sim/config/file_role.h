// What a file is, by a look at its beginning: so that a file given in the wrong role is answered with the role it fits.
#pragma once

#include <string>
#include <string_view>

namespace tessella {

enum class FileRole {
  unknown,
  experiment,
  model,
  topology,
  profile,
  sweep,
  baseline,
  expected,
  plan,
  pair_order,
  result,
  hf_config,
  kineto,
  torchtitan,
  simai,
  torch_csv,
  nccl_tests,
  script,
  database,
  gzip,
  chakra,
  measured_runs,
};

// Sure or `unknown`. O(length).
FileRole role_of(std::string_view text);

// Throws InputError when the text is surely something else than `wanted`: what it is, and where it fits.
void require_role(const std::string& file_name, std::string_view text, FileRole wanted);

} // namespace tessella
