// tessella import: files people have already, as ours.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/config/dump.h"
#include "sim/config/import_hf.h"
#include "sim/config/import_megatron.h"
#include "sim/config/source.h"
#include "sim/cost/params.h"

namespace tessella {
namespace {

struct ImportFlags {
  std::string file;                // hf
  std::vector<std::string> inputs; // megatron
  std::string out;
  std::string name;
  std::string model;
  std::string topology;
  std::string profile;
};

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& w : warnings) fmt::print(stderr, "warning: {}\n", w);
}

// Letters, digits and _ - . only, as names in our files are.
std::string to_name(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  return text.empty() ? "imported" : text;
}

std::string name_of(const ImportFlags& flags, const std::string& fallback) {
  if (!flags.name.empty()) return to_name(flags.name);
  return to_name(flags.out.empty() ? fallback : std::filesystem::path(flags.out).stem().string());
}

void say_size(const Model& model) {
  const ModelSize size = model_size(model);
  fmt::print(stderr, "{}: {:.2f} B parameters, {:.2f} B active, {} layers{}\n", model.name,
             static_cast<double>(size.total) * 1e-9, static_cast<double>(size.active) * 1e-9, model.num_layers(),
             size.mtp > 0 ? fmt::format("; MTP {:.2f} B beside them", static_cast<double>(size.mtp) * 1e-9) : "");
}

int from_hf(const ImportFlags& flags) {
  const std::filesystem::path file = flags.file;
  const std::string stem = file.stem() == "config" ? std::filesystem::absolute(file).parent_path().filename().string()
                                                   : file.stem().string();
  const ImportedModel imported = import_hf(display_path(file), read_file(file), name_of(flags, stem));
  warn(imported.warnings);
  if (flags.out.empty())
    fmt::print("{}", to_yaml(imported.model));
  else
    write_file(flags.out, to_yaml(imported.model));
  say_size(imported.model);
  return kExitOk;
}

// A word that names a file is read; anything else is taken as arguments itself.
std::vector<std::pair<std::string, std::string>> texts_of(const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (std::filesystem::is_regular_file(input, error))
      out.emplace_back(display_path(input), read_file(input));
    else if (input.find('=') == std::string::npos && input.find("--") == std::string::npos)
      throw InputError(input, "no such file, and neither --flags nor NAME=VALUE");
    else
      out.emplace_back("arguments", input);
  }
  return out;
}

void list_flags(const char* what, const std::vector<std::string>& flags) {
  if (flags.empty()) return;
  fmt::print(stderr, "{}:", what);
  for (const std::string& flag : flags) fmt::print(stderr, " {}", flag);
  fmt::print(stderr, "\n");
}

int from_megatron(const ImportFlags& flags) {
  MegatronSettings settings;
  settings.name = name_of(flags, "imported");
  const auto optional = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  settings.model = optional(flags.model);
  settings.topology = optional(flags.topology);
  settings.profile = optional(flags.profile);
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
  if (flags.out.empty())
    fmt::print("{}", imported.yaml);
  else
    write_file(flags.out, imported.yaml);
  return kExitOk;
}

} // namespace

void add_import(CLI::App& app, int& code) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand("import", "Models, experiments and schedules from files you have");
  command->require_subcommand(1);
  CLI::App* hf = command->add_subcommand("hf", "Hugging Face config.json -> model");
  hf->add_option("config", flags->file, "config.json")->required()->type_name("FILE");
  hf->add_option("-o,--out", flags->out, "model file to write (default: standard output)")->type_name("FILE");
  hf->add_option("--name", flags->name, "name of the model");
  hf->footer("Example:\n  tessella import hf Qwen3-30B-A3B/config.json -o models/qwen3_30b_a3b.yaml");
  hf->callback([flags, &code] { code = guarded([&] { return from_hf(*flags); }); });
  add_import_schedule(*command, code);
  CLI::App* megatron =
      command->add_subcommand("megatron", "Megatron-LM flags, launch script or ModelZoo YAML -> experiment");
  megatron->add_option("inputs", flags->inputs, "scripts, YAML files, \"--flags ...\", \"TP=2 PP=8\"; later ones win")
      ->required()
      ->type_name("INPUT");
  megatron->add_option("-o,--out", flags->out, "experiment file to write; its model goes beside it")->type_name("FILE");
  megatron->add_option("--name", flags->name, "name of the experiment");
  megatron->add_option("--model", flags->model, "a model by name or path, instead of the flags'");
  megatron->add_option("--topology", flags->topology, "default: a Hopper cluster of that many GPUs");
  megatron->add_option("--profile", flags->profile, "default: h100_sxm/2026-11-29-published");
  megatron->footer("Example:\n  tessella import megatron pretrain.sh \"NNODES=32 GBS=2048\" -o experiment.yaml\n"
                   "An input that begins with dashes goes after --:\n"
                   "  tessella import megatron -o e.yaml --model qwen3_30b_a3b -- \"--micro-batch-size 1 ...\"");
  megatron->callback([flags, &code] { code = guarded([&] { return from_megatron(*flags); }); });
}

} // namespace tessella
