// Reads measured runs and the names of their models.
//
// runs: one row a run, columns by name in any order. Required: id, group, model, gpu, gpus, seq, gbs, tp, pp and at
// least one of step_s, tokens_s_gpu, tflops_per_gpu. Known beside them: usable layers gpus_per_node network precision
// mbs vpp cp ep etp dp sharding recompute dispatcher overlap routing framework sw. Others are ignored. A cell may be
// empty. aliases: columns name, model, reason.
//
// Throws one InputError for all cells that are no positive number, ids that repeat, and missing columns, each with its
// line. A row that contradicts itself (gpus != tp * pp * cp * dp, ...) is no error: it carries the contradiction.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/domain/measured_run.h"

namespace tessella {

std::vector<MeasuredRun> load_measured_runs(const std::filesystem::path& file);
std::vector<MeasuredRun> load_measured_runs_text(const std::string& file_name, const std::string& text);

std::vector<ModelAlias> load_model_aliases(const std::filesystem::path& file);
std::vector<ModelAlias> load_model_aliases_text(const std::string& file_name, const std::string& text);

} // namespace tessella
