// Results and experiments as named values, for comparing them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/domain/comparison.h"

namespace tessella {

// The text of `tessella run --json`. InputError when it is something else, which it names where it knows it.
FlatResult read_result_text(const std::string& name, const std::string& text);
// The text of a result, which may be large. InputError when it cannot be read.
std::string read_result_file(const std::filesystem::path& file);
FlatResult read_result(const std::filesystem::path& file);

// Every value of an experiment file under its canonical key, after overrides:
// "parallelism.pipeline_model_parallel_size"
// -> "8". Does not check that it is an experiment (load_scenario does).
NamedTexts experiment_settings(const std::filesystem::path& file, const std::vector<std::string>& overrides);

} // namespace tessella
