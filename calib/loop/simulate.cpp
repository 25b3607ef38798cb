#include "calib/loop/simulate.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "calib/loop/child.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/config/dump.h"

namespace tessella::calib {
namespace {

using Json = nlohmann::json;

std::string routing_text(const LoopPlan& plan) {
  if (plan.loads.empty()) return "{kind: balanced}";
  std::string loads;
  for (const double load : plan.loads) loads += fmt::format("{}{}", loads.empty() ? "" : ", ", load);
  return fmt::format("{{kind: loads, loads: [{}]}}", loads);
}

std::string experiment_text(const LoopModel& model, const LoopPlan& p) {
  std::string text = fmt::format("experiment: {}\n"
                                 "question: \"Does the simulated step take as long as the executed one?\"\n"
                                 "model: model.yaml\n"
                                 "cluster: {{topology: topology.yaml, profile: profile.yaml}}\n"
                                 "parallelism:\n"
                                 "  world_size: {}\n"
                                 "  pipeline_model_parallel_size: {}\n",
                                 p.name, p.world(), p.pp);
  if (p.vpp() > 1) text += fmt::format("  num_virtual_stages_per_pipeline_rank: {}\n", p.vpp());
  text += fmt::format("  expert_model_parallel_size: {}\n", p.ep);
  if (p.stages() > 1) text += fmt::format("  pipeline_model_parallel_layout: \"{}\"\n", layout_text(p));
  text += fmt::format("batch: {{micro_batch_size: 1, global_batch_size: {}, seq_length: {}}}\n"
                      "precision: bf16\n"
                      "recompute: {{granularity: none}}\n"
                      "moe: {{token_dispatcher_type: alltoall}}\n"
                      "schedule: {{name: {}}}\n"
                      "optimizer: {{use_distributed_optimizer: false}}\n"
                      "routing: {}\n",
                      p.micro_batches * p.ep, model.seq, p.schedule, routing_text(p));
  return text;
}

Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw InputError(path, "cannot open");
  try {
    return Json::parse(in);
  } catch (const Json::exception& error) {
    throw InputError(path, error.what());
  }
}

// "0F3 attention_fwd" -> 0F3; nothing for what is no action.
std::optional<Action> action_of(const std::string& name) {
  return parse_action(name.substr(0, name.find(' ')));
}

void read_trace(const Json& trace, SimulatedStep& step) {
  std::map<std::pair<int, int>, std::string> lanes;
  for (const Json& e : trace.at("traceEvents"))
    if (e.at("ph") == "M" && e.at("name") == "thread_name") lanes[{e.at("pid"), e.at("tid")}] = e.at("args").at("name");
  for (const Json& e : trace.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    SimulatedOp op;
    op.rank = e.at("pid");
    op.lane = lanes[{op.rank, e.at("tid")}];
    op.name = e.at("name");
    op.begin = e.at("ts").get<double>() * 1e-6;
    op.end = op.begin + e.at("dur").get<double>() * 1e-6;
    if (const auto action = action_of(op.name)) {
      op.action = *action;
      op.in_action = op.lane == "compute" || op.lane == "ep";
    }
    step.ops.push_back(std::move(op));
  }
}

} // namespace

std::string write_experiment(const std::string& folder, const LoopModel& model, const LoopPlan& plan,
                             const HostFit& fit) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/model.yaml", to_yaml(to_model(model)));
  write_file(folder + "/topology.yaml", to_yaml(host_cluster(fit, plan.world())));
  write_file(folder + "/profile.yaml", to_yaml(fit.profile));
  const std::string path = fmt::format("{}/{}.yaml", folder, plan.name);
  write_file(path, experiment_text(model, plan));
  return path;
}

SimulatedStep read_simulation(const std::string& json_file, const std::string& trace_file) {
  const Json answer = read_json(json_file);
  const Json trace = read_json(trace_file);
  SimulatedStep step;
  try {
    const Json& ledger = answer.at("ledger");
    const Json& exposed = ledger.at("exposed");
    const Json& bubble = ledger.at("bubble");
    step.seconds = answer.at("step_time_s");
    step.exposed_ep = exposed.at("ep");
    step.exposed_pp = exposed.at("pp");
    step.exposed_dp = exposed.at("dp");
    step.imbalance = ledger.at("imbalance");
    step.bubble =
        bubble.at("warmup").get<double>() + bubble.at("drain").get<double>() + bubble.at("dependency").get<double>();
    read_trace(trace, step);
  } catch (const Json::exception& error) {
    throw InputError(json_file, fmt::format("is not what tessella run writes: {}", error.what()));
  }
  return step;
}

SimulatedStep simulate(const std::string& tessella, const std::string& folder, const LoopPlan& plan) {
  const std::string base = fmt::format("{}/{}", folder, plan.name);
  std::string ranks;
  for (int r = 0; r < plan.world(); ++r) ranks += fmt::format("{}{}", r == 0 ? "" : ",", r);
  const ChildResult child =
      run_child(tessella, {"run", base + ".yaml", "--threads", "1", "--no-fold", "--json", base + ".json", "--trace",
                           base + ".trace.json", "--trace-ranks", ranks});
  if (child.code != 0)
    throw InputError(fmt::format("{} run {}.yaml", tessella, base),
                     fmt::format("exit code {}:\n{}", child.code, child.errors));
  return read_simulation(base + ".json", base + ".trace.json");
}

} // namespace tessella::calib
