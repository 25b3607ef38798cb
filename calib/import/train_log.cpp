#include "calib/import/train_log.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "calib/import/imported.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct Series {
  std::vector<double> step_s;
  std::vector<double> tps;
  std::vector<double> tflops;
};

// " iteration 5/ 100 | ... | elapsed time per iteration (ms): 283.9 | throughput per GPU (TFLOP/s/GPU): 245.3 | ..."
bool read_megatron(std::string_view line, Series& s, TrainingRun& run) {
  double ms = 0.0;
  if (!number_after(line, "elapsed time per iteration (ms):", ms)) return false;
  run.framework = "Megatron-LM";
  s.step_s.push_back(ms * 1e-3);
  double value = 0.0;
  if (number_after(line, "throughput per GPU (TFLOP/s/GPU):", value)) s.tflops.push_back(value);
  if (number_after(line, "global batch size:", value)) run.global_batch_size = std::llround(value);
  return true;
}

// "step: 10  loss: 3.0  memory: 40.0GiB(50%)  tps: 5,432  tflops: 210.12  mfu: 21.2%", with colours in between.
std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return plain;
}

bool read_torchtitan(std::string_view coloured, Series& s, TrainingRun& run) {
  if (coloured.find("tps:") == std::string_view::npos) return false;
  const std::string line = without_colours(coloured);
  double tps = 0.0;
  if (!number_after(line, "tps:", tps) || line.find("step:") == std::string::npos) return false;
  run.framework = "torchtitan";
  s.tps.push_back(tps);
  double tflops = 0.0;
  if (number_after(line, "tflops:", tflops)) s.tflops.push_back(tflops);
  return true;
}

Summary without_warmup(std::vector<double> values, std::int64_t warmup) {
  const auto skip =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(0, warmup)), values.empty() ? 0 : values.size() - 1);
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(skip));
  return summary_of(values);
}

} // namespace

TrainingRun import_training_log(const std::string& name, const std::string& text, std::int64_t warmup) {
  TrainingRun run;
  Series series;
  for (const std::string_view line : lines_of(text))
    if (!read_megatron(line, series, run) && !read_torchtitan(line, series, run))
      ++run.dropped["lines without a step's time"];
  const std::size_t steps = std::max(series.step_s.size(), series.tps.size());
  if (steps == 0) throw InputError(name, "has no step times of Megatron-LM or torchtitan");
  run.step = without_warmup(series.step_s, warmup);
  run.tokens_per_s_per_gpu = without_warmup(series.tps, warmup);
  run.tflops_per_gpu = without_warmup(series.tflops, warmup);
  run.dropped["steps of the warm-up"] += std::min(warmup, static_cast<std::int64_t>(steps) - 1);
  return run;
}

std::string to_validation_csv(const TrainingRun& run, const std::string& id) {
  const auto number = [](double x) { return x > 0.0 ? fmt::format("{:.6g}", x) : std::string(); };
  std::string header =
      "id,group,usable,model,layers,gpu,gpus,gpus_per_node,network,precision,seq,gbs,mbs,tp,pp,vpp,cp,ep,"
      "etp,dp,sharding,recompute,dispatcher,overlap,routing,step_s,tflops_per_gpu,tokens_s_gpu,"
      "framework,sw,note\n";
  return header +
         fmt::format("{},own,partial,,,,,,,,,{},,,,,,,,,,,,,,{},{},{},{},,\"median of {} steps, MAD {:.2g} %\"\n", id,
                     run.global_batch_size ? std::to_string(*run.global_batch_size) : "", number(run.step.median),
                     number(run.tflops_per_gpu.median), number(run.tokens_per_s_per_gpu.median), run.framework,
                     std::max(run.step.n, run.tokens_per_s_per_gpu.n),
                     100.0 * (run.step.n > 0 ? run.step.mad / run.step.median
                                             : run.tokens_per_s_per_gpu.mad / run.tokens_per_s_per_gpu.median));
}

} // namespace tessella::calib
