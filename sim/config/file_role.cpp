#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "sim/base/error.h"

namespace tessella {
namespace {

struct RoleText {
  FileRole role;
  std::string_view is;    // "a model"
  std::string_view where; // what to do with it
};

constexpr auto kRoles = std::to_array<RoleText>({
    {FileRole::experiment, "an experiment", "tessella run, check, plan or search takes it"},
    {FileRole::model, "a model", "an experiment names it under model:"},
    {FileRole::topology, "a topology", "an experiment names it under cluster: {topology: ...}"},
    {FileRole::profile, "a profile", "an experiment names it under cluster: {profile: ...}"},
    {FileRole::sweep, "a sweep", "tessella sweep takes it"},
    {FileRole::baseline, "a baseline", "tessella regress --baseline takes its folder"},
    {FileRole::expected, "an expected result of a baseline", "tessella regress --baseline takes the folder above it"},
    {FileRole::plan, "a plan", "tessella run EXP.yaml --plan takes it"},
    {FileRole::pair_order, "the order of a pair", "tessella pair EXP.yaml --order takes it"},
    {FileRole::result, "a result of run --json", "tessella compare takes it"},
    {FileRole::hf_config, "a Hugging Face config.json", "tessella import hf makes a model of it"},
    {FileRole::kineto, "a Chrome or Kineto trace", "ui.perfetto.dev shows it"},
    {FileRole::torchtitan, "a torchtitan job", "tessella import torchtitan makes an experiment of it"},
    {FileRole::simai, "a SimAI workload", "tessella import simai reads it"},
    {FileRole::torch_csv, "a torch pipelining schedule", "tessella schedule and run --schedule take it"},
    {FileRole::nccl_tests, "a table of nccl-tests", "tessella-calib takes it"},
    {FileRole::script, "a shell script", "tessella import megatron takes launch scripts"},
    {FileRole::database, "a results database", "tessella merge takes it, and any SQLite client reads it"},
    {FileRole::gzip, "a compressed file", "unpack it first"},
    {FileRole::measured_runs, "a table of measured runs", "tessella validate takes it"},
    {FileRole::chakra, "a Chakra execution trace", "tessella import chakra reads it"},
});

const RoleText* text_of(FileRole role) {
  const auto row = std::find_if(kRoles.begin(), kRoles.end(), [&](const RoleText& r) { return r.role == role; });
  return row == kRoles.end() ? nullptr : &*row;
}

// Keys at the start of a line of a YAML file, quotes off.
std::set<std::string, std::less<>> top_keys(std::string_view text) {
  std::set<std::string, std::less<>> keys;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && colon > 0 && std::isalpha(static_cast<unsigned char>(line[0])) != 0)
      keys.emplace(line.substr(0, colon));
    begin = end + 1;
  }
  return keys;
}

FileRole yaml_role(std::string_view text) {
  const auto keys = top_keys(text);
  const auto has = [&](std::string_view key) { return keys.find(key) != keys.end(); };
  if (has("sweep")) return has("experiment") ? FileRole::sweep : FileRole::unknown;
  if (has("baseline")) return has("experiments") ? FileRole::baseline : FileRole::unknown;
  if (has("expected") && has("tool") && has("note")) return FileRole::expected;
  if (has("experiment") && has("model") && has("batch")) return FileRole::experiment;
  if (has("plan") && has("certificate")) return FileRole::plan;
  if (has("profile") && has("entries")) return FileRole::profile;
  if (has("topology") && has("fabric")) return FileRole::topology;
  if (has("model") && has("hidden_size")) return FileRole::model;
  if (has("passes") && has("compute") && has("ep")) return FileRole::pair_order;
  return FileRole::unknown;
}

FileRole json_role(std::string_view text) {
  const auto has = [&](std::string_view key) {
    return text.find(fmt::format("\"{}\"", key)) != std::string_view::npos;
  };
  if (has("traceEvents")) return FileRole::kineto;
  if (has("step_time_s") && has("ledger")) return FileRole::result;
  if (has("model_type") || has("architectures") || (has("hidden_size") && has("num_hidden_layers")))
    return FileRole::hf_config;
  return FileRole::unknown;
}

// `0F0` in the first cell that is not empty.
bool is_torch_csv(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t comma = line.find(',');
  const std::size_t begin = line.find_first_not_of(", ");
  if (comma == std::string_view::npos || begin == std::string_view::npos) return false;
  const std::string_view cell = line.substr(begin, line.find(',', begin) - begin);
  std::size_t i = 0;
  while (i < cell.size() && std::isdigit(static_cast<unsigned char>(cell[i])) != 0) ++i;
  return i > 0 && i + 1 < cell.size() && std::string_view("FBIW").find(cell[i]) != std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(cell[i + 1])) != 0;
}

} // namespace

FileRole role_of(std::string_view text) {
  if (text.starts_with("SQLite format 3")) return FileRole::database;
  if (text.starts_with("\x1f\x8b")) return FileRole::gzip;
  if (text.starts_with("#!")) return FileRole::script;
  if (text.starts_with("HYBRID_TRANSFORMER")) return FileRole::simai;
  if (text.starts_with("# nThread") || text.starts_with("# nccl-tests")) return FileRole::nccl_tests;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return FileRole::unknown;
  if (text[begin] == '{') return json_role(text);
  if (text.find("\n[parallelism]") != std::string_view::npos && text.find("\n[training]") != std::string_view::npos)
    return FileRole::torchtitan;
  if (text.starts_with("id,group,") && text.substr(0, text.find('\n')).find(",step_s") != std::string_view::npos)
    return FileRole::measured_runs;
  if (is_torch_csv(text)) return FileRole::torch_csv;
  // Metadata of some bytes, whose first field is the version.
  if (text.size() > 4 && static_cast<unsigned char>(text[0]) < 0x80 && text[1] == '\x0a' && text[2] < 0x20)
    return FileRole::chakra;
  return yaml_role(text);
}

void require_role(const std::string& file_name, std::string_view text, FileRole wanted) {
  const FileRole role = role_of(text);
  const RoleText* is = text_of(role);
  const RoleText* should = text_of(wanted);
  if (role == wanted || !is || !should) return;
  throw InputError(SourceSpan{file_name, 0, 0, 0, {}}, fmt::format("is {}, not {}; {}", is->is, should->is, is->where));
}

} // namespace tessella
