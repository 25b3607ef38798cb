// tessella import: files people have already, as ours.
#include <CLI/CLI.hpp>
#include <memory>

#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/import_jobs.h"

namespace tessella {
namespace {

using Flags = std::shared_ptr<ImportFlags>;

void run_with(CLI::App* kind, const Flags& flags, int& code, int (*from)(const ImportFlags&)) {
  kind->callback([flags, from, &code] { code = guarded([&] { return from(*flags); }); });
}

void add_output(CLI::App* kind, const Flags& flags, const char* what) {
  kind->add_option("-o,--out", flags->out, what)->type_name("FILE");
  kind->add_option("--name", flags->name, "name of what is written (default: of its file)");
}

void add_parts(CLI::App* kind, const Flags& flags, const char* model) {
  kind->add_option("--model", flags->model, model);
  kind->add_option("--topology", flags->topology, "default: a Hopper cluster of that many GPUs");
  kind->add_option("--profile", flags->profile, "default: h100_sxm/2026-11-29-published");
}

void add_hf(CLI::App* command, const Flags& flags, int& code) {
  CLI::App* hf = command->add_subcommand("hf", "Hugging Face config.json -> model");
  hf->add_option("config", flags->file, "config.json")->required()->type_name("FILE");
  add_output(hf, flags, "model file to write (default: standard output)");
  hf->footer("Example:\n  tessella import hf Qwen3-30B-A3B/config.json -o models/qwen3_30b_a3b.yaml");
  run_with(hf, flags, code, from_hf);
}

void add_megatron(CLI::App* command, const Flags& flags, int& code) {
  CLI::App* megatron =
      command->add_subcommand("megatron", "Megatron-LM flags, launch script or ModelZoo YAML -> experiment");
  megatron->add_option("inputs", flags->inputs, "scripts, YAML files, \"--flags ...\", \"TP=2 PP=8\"; later ones win")
      ->required()
      ->type_name("INPUT");
  add_output(megatron, flags, "experiment file to write; its model goes beside it");
  add_parts(megatron, flags, "a model by name or path, instead of the flags'");
  megatron->footer("Example:\n  tessella import megatron pretrain.sh \"NNODES=32 GBS=2048\" -o experiment.yaml\n"
                   "An input that begins with dashes goes after --:\n"
                   "  tessella import megatron -o e.yaml --model qwen3_30b_a3b -- \"--micro-batch-size 1 ...\"");
  run_with(megatron, flags, code, from_megatron);
}

void add_torchtitan(CLI::App* command, const Flags& flags, int& code) {
  CLI::App* titan = command->add_subcommand("torchtitan", "torchtitan job (TOML) -> experiment");
  titan->add_option("job", flags->file, "the job's TOML file")->required()->type_name("FILE");
  add_output(titan, flags, "experiment file to write (default: standard output)");
  add_parts(titan, flags, "a model by name or path, instead of the job's flavor");
  titan->add_option("--gpus", flags->gpus, "world size; needed when data_parallel_shard_degree is -1")
      ->check(CLI::PositiveNumber);
  titan->footer("Example:\n  tessella import torchtitan deepseek_v3_671b.toml --gpus 512 -o experiment.yaml");
  run_with(titan, flags, code, from_torchtitan);
}

void add_traces(CLI::App* command, const Flags& flags, int& code) {
  CLI::App* simai = command->add_subcommand("simai", "SimAI workload -> communication ledger, and an experiment");
  simai->add_option("workload", flags->file, "the workload file")->required()->type_name("FILE");
  simai->add_option("--csv", flags->csv, "the ledger as CSV; - for standard output")->type_name("FILE");
  add_output(simai, flags, "experiment file to write; needs --model and --seq");
  add_parts(simai, flags, "the model, which the workload does not name");
  simai->add_option("--seq", flags->seq_length, "sequence length")->check(CLI::PositiveNumber);
  simai->add_option("--mbs", flags->micro_batch_size, "micro-batch size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  simai->footer("Example:\n  tessella import simai workload.txt --csv ledger.csv\n"
                "  tessella import simai workload.txt --model mixtral_8x7b --seq 4096 -o experiment.yaml");
  run_with(simai, flags, code, from_simai);
  CLI::App* chakra = command->add_subcommand("chakra", "Chakra execution trace of one rank -> communication ledger");
  chakra->add_option("trace", flags->file, "the .et file")->required()->type_name("FILE");
  chakra->add_option("--csv", flags->csv, "the ledger as CSV; - for standard output")->type_name("FILE");
  chakra->footer("Example:\n  tessella import chakra workload.0.et --csv ledger.csv");
  run_with(chakra, flags, code, from_chakra);
}

} // namespace

void add_import(CLI::App& app, int& code) {
  const auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand("import", "Models, experiments, schedules and ledgers from files you have");
  command->require_subcommand(1);
  command->footer("Example:\n  tessella import hf Qwen3-30B-A3B/config.json -o models/qwen3_30b_a3b.yaml\n"
                  "nccl-tests, DeepEP and Kineto files go to tessella-calib.");
  add_hf(command, flags, code);
  add_megatron(command, flags, code);
  add_torchtitan(command, flags, code);
  add_traces(command, flags, code);
  add_import_schedule(*command, code);
}

} // namespace tessella
