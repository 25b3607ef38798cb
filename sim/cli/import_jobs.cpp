#include "sim/cli/import_jobs.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <filesystem>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/exit_code.h"
#include "sim/config/dump.h"
#include "sim/config/file_role.h"
#include "sim/config/import_hf.h"
#include "sim/config/import_megatron.h"
#include "sim/config/import_torchtitan.h"
#include "sim/config/source.h"
#include "sim/cost/params.h"

namespace tessella {

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& w : warnings) fmt::print(stderr, "warning: {}\n", w);
}

namespace {

// Letters, digits and _ - . only, as names in our files are.
std::string to_name(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  return text.empty() ? "imported" : text;
}

} // namespace

std::string name_of(const ImportFlags& flags, const std::string& fallback) {
  if (!flags.name.empty()) return to_name(flags.name);
  return to_name(flags.out.empty() ? fallback : std::filesystem::path(flags.out).stem().string());
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_out(const ImportFlags& flags, const std::string& text) {
  if (flags.out.empty())
    fmt::print("{}", text);
  else
    write_file(flags.out, text);
}

namespace {

void say_size(const Model& model) {
  const ModelSize size = model_size(model);
  fmt::print(stderr, "{}: {:.2f} B parameters, {:.2f} B active, {} layers{}\n", model.name,
             static_cast<double>(size.total) * 1e-9, static_cast<double>(size.active) * 1e-9, model.num_layers(),
             size.mtp > 0 ? fmt::format("; MTP {:.2f} B beside them", static_cast<double>(size.mtp) * 1e-9) : "");
}

} // namespace

int from_hf(const ImportFlags& flags) {
  const std::filesystem::path file = flags.file;
  const std::string stem = file.stem() == "config" ? std::filesystem::absolute(file).parent_path().filename().string()
                                                   : file.stem().string();
  const ImportedModel imported = import_hf(display_path(file), read_file(file), name_of(flags, stem));
  warn(imported.warnings);
  write_out(flags, to_yaml(imported.model));
  say_size(imported.model);
  return kExitOk;
}

namespace {

// A word that names a file is read; anything else is taken as arguments itself.
std::vector<std::pair<std::string, std::string>> texts_of(const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (std::filesystem::is_regular_file(input, error)) {
      out.emplace_back(display_path(input), read_file(input));
      require_role(out.back().first, out.back().second, FileRole::script);
    } else if (input.find('=') == std::string::npos && input.find("--") == std::string::npos)
      throw InputError(input, "no such file, and neither --flags nor NAME=VALUE");
    else
      out.emplace_back("arguments", input);
  }
  return out;
}

} // namespace

void list_flags(const char* what, const std::vector<std::string>& flags) {
  if (flags.empty()) return;
  fmt::print(stderr, "{}:", what);
  for (const std::string& flag : flags) fmt::print(stderr, " {}", flag);
  fmt::print(stderr, "\n");
}

int from_megatron(const ImportFlags& flags) {
  MegatronSettings settings;
  settings.name = name_of(flags, "imported");
  settings.model = given(flags.model);
  settings.topology = given(flags.topology);
  settings.profile = given(flags.profile);
  if (flags.out.empty() && !settings.model)
    throw InputError("-o", "is needed: the model of the flags becomes a file of its own; or name one with --model");
  const std::filesystem::path out = flags.out;
  const std::string model_file = out.stem().string() + ".model.yaml";
  const ImportedExperiment imported = import_megatron(texts_of(flags.inputs), settings, model_file);
  warn(imported.warnings);
  list_flags("ignored, no effect on the cost of a step", imported.ignored);
  list_flags("ignored, not known", imported.unknown);
  if (imported.model) {
    write_file((out.parent_path() / model_file).string(), to_yaml(*imported.model));
    say_size(*imported.model);
  }
  write_out(flags, imported.yaml);
  return kExitOk;
}

int from_torchtitan(const ImportFlags& flags) {
  TorchtitanSettings settings;
  settings.name = name_of(flags, std::filesystem::path(flags.file).stem().string());
  settings.model = given(flags.model);
  settings.topology = given(flags.topology);
  settings.profile = given(flags.profile);
  settings.world = flags.gpus;
  const ImportedTorchtitan imported = import_torchtitan(display_path(flags.file), read_file(flags.file), settings);
  warn(imported.warnings);
  list_flags("ignored, no effect on the cost of a step", imported.ignored);
  list_flags("ignored, not known", imported.unknown);
  write_out(flags, imported.yaml);
  return kExitOk;
}

} // namespace tessella
