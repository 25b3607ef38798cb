#include "sim/config/import_simai.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "sim/base/error.h"
#include "sim/config/experiment.h"
#include "sim/config/flow_map.h"

namespace tessella {
namespace {

struct Word {
  std::string text;
  int column = 0;
};

struct Line {
  std::string text;
  int number = 0;
  std::vector<Word> words;
};

std::vector<Line> split(const std::string& text) {
  std::vector<Line> lines;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Line line{text.substr(begin, end - begin), ++number, {}};
    for (std::size_t i = 0; i < line.text.size();) {
      if (line.text[i] == ' ' || line.text[i] == '\t' || line.text[i] == '\r') {
        ++i;
        continue;
      }
      const std::size_t stop = std::min(line.text.find_first_of(" \t\r", i), line.text.size());
      line.words.push_back({line.text.substr(i, stop - i), static_cast<int>(i) + 1});
      i = stop;
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

[[noreturn]] void fail(const std::string& file, const Line& line, const Word& at, const std::string& message) {
  throw InputError(SourceSpan{file, line.number, at.column, static_cast<int>(at.text.size()), line.text}, message);
}

std::int64_t whole_number(const std::string& file, const Line& line, const Word& word, std::int64_t least) {
  std::int64_t value = 0;
  const char* end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, value);
  if (error != std::errc() || stop != end) fail(file, line, word, fmt::format("'{}' is not a whole number", word.text));
  if (value < least) fail(file, line, word, fmt::format("{} is less than {}", value, least));
  return value;
}

SimaiWorkload read_header(const std::string& file, const Line& line) {
  SimaiWorkload w;
  const std::map<std::string, std::int64_t*, std::less<>> keys = {{"model_parallel_NPU_group", &w.parallelism.tp},
                                                                  {"ep", &w.parallelism.ep},
                                                                  {"pp", &w.parallelism.pp},
                                                                  {"vpp", &w.parallelism.vpp},
                                                                  {"ga", &w.micro_batches},
                                                                  {"all_gpus", &w.parallelism.world_size},
                                                                  {"pp_comm", &w.pp_message.count}};
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    std::string key = line.words[i].text;
    if (key.ends_with(':')) key.pop_back();
    const auto known = keys.find(key);
    if (known == keys.end()) {
      w.ignored.push_back(key);
      if (i + 1 < line.words.size() && line.words[i].text.ends_with(':')) ++i; // its value
      continue;
    }
    if (i + 1 == line.words.size()) fail(file, line, line.words[i], fmt::format("'{}' has no value", key));
    ++i;
    *known->second = whole_number(file, line, line.words[i], key == "pp_comm" ? 0 : 1);
  }
  return w;
}

void check_grid(const std::string& file, const Line& header, const Parallelism& p) {
  if (p.world_size % (p.tp * p.pp) != 0)
    fail(file, header, header.words[0],
         fmt::format("all_gpus {} is not a multiple of model_parallel_NPU_group * pp = {}", p.world_size, p.tp * p.pp));
}

// layer dependency then, per phase, compute time, collective and size.
void read_layer(const std::string& file, const Line& line, SimaiWorkload& w) {
  constexpr std::string_view phases[] = {"forward", "input_grad", "weight_grad"};
  if (line.words.size() < 11) fail(file, line, line.words[0], "a layer has 12 words; this line is cut off");
  for (std::size_t phase = 0; phase < 3; ++phase) {
    const Word& type = line.words[3 + 3 * phase];
    const Bytes size{whole_number(file, line, line.words[4 + 3 * phase], 0)};
    if (type.text != "NONE") w.collectives.push_back({line.words[0].text, std::string(phases[phase]), type.text, size});
  }
}

} // namespace

SimaiWorkload parse_simai(const std::string& file, const std::string& text) {
  require_role(file, text, FileRole::simai);
  const std::vector<Line> lines = split(text);
  if (lines.empty())
    throw InputError(SourceSpan{file, 0, 0, 0, {}}, "the file is empty; a SimAI workload has a header");
  if (!lines[0].words[0].text.starts_with("HYBRID_TRANSFORMER"))
    fail(file, lines[0], lines[0].words[0],
         "not a SimAI workload: the first word should be HYBRID_TRANSFORMER_FWD_IN_BCKWD");
  SimaiWorkload w = read_header(file, lines[0]);
  check_grid(file, lines[0], w.parallelism);
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (lines[i].words.size() > 1) read_layer(file, lines[i], w); // a line of one number counts the layers
  return w;
}

CommLedger ledger_of(const SimaiWorkload& workload) {
  CommLedger ledger;
  for (const SimaiCollective& c : workload.collectives) add(ledger, c.type, c.phase, "", c.size);
  return ledger;
}

std::string experiment_of(const SimaiWorkload& workload, const SimaiJob& job) {
  const Parallelism& p = workload.parallelism;
  FlowMap sizes;
  sizes.count("world_size", p.world_size).count("tensor_model_parallel_size", p.tp);
  sizes.count("pipeline_model_parallel_size", p.pp).count("num_virtual_stages_per_pipeline_rank", p.vpp);
  sizes.count("expert_model_parallel_size", p.ep).count("expert_tensor_parallel_size", 1);
  FlowMap batch;
  batch.count("micro_batch_size", job.micro_batch_size);
  batch.count("global_batch_size", workload.micro_batches * job.micro_batch_size * p.dp());
  batch.count("seq_length", job.seq_length);
  const std::string y = fmt::format(
      "# Imported from a SimAI workload.\nexperiment: {}\nmodel: {}\ncluster: {{topology: {}, profile: {}}}\n"
      "parallelism: {}\nbatch: {}\nschedule: {{name: {}}}\n{}",
      job.name, quote_yaml(job.model), quote_yaml(job.topology), quote_yaml(job.profile), sizes.text(), batch.text(),
      p.vpp > 1 ? "interleaved_1f1b" : "1f1b", p.ep > 1 ? "routing: {kind: balanced}\n" : "");
  read_experiment("imported experiment", y); // what is written reads back
  return y;
}

} // namespace tessella
