// tessella-calib run: measure what a model needs on this machine, the most informative shapes first.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "calib/bench/model_shapes.h"
#include "calib/cli/commands.h"
#include "calib/cli/exit_code.h"
#include "calib/device/machine.h"
#include "calib/host/crew.h"
#include "calib/launch/process_machine.h"
#include "calib/launch/rendezvous.h"
#include "calib/measured/reference.h"
#include "calib/session/run_session.h"
#include "sim/base/error.h"
#include "sim/config/catalog.h"
#include "sim/config/load.h"

namespace tessella::calib {
namespace {

struct Flags {
  std::string model;
  std::string reference;
  std::string backend = "auto";
  ShapeOptions shapes;
  std::string precision = "bf16,fp8";
  std::string budget = "10m";
  std::string folder;
  std::string rendezvous;
  bool force = false;
  bool dry_run = false;
  bool list = false;
  bool realtime = false;
};

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag = false;
  return flag;
}

// The first SIGINT or SIGTERM finishes the current shape and keeps everything; the second ends at once.
void catch_interrupts() {
  const auto handler = [](int signal) {
    if (interrupted().exchange(true)) std::signal(signal, SIG_DFL), std::raise(signal);
  };
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

Model find_model(const std::string& name) {
  const auto here = std::filesystem::current_path();
  return load_model(resolve(Catalog::model, name, here, search_path(here), {"--model", 0, 0, 0, ""}));
}

std::vector<Job> jobs_of(Flags& flags, const World& world) {
  flags.shapes.bf16 = flags.precision.find("bf16") != std::string::npos;
  flags.shapes.fp8 = flags.precision.find("fp8") != std::string::npos && flags.backend != "host"; // it computes in fp32
  flags.shapes.reference = flags.backend != "host";
  if (flags.backend == "host") flags.shapes.attention = ""; // the only one it has
  flags.shapes.ranks = std::max<std::int64_t>(flags.shapes.ranks, world.size);
  std::vector<Job> jobs;
  if (!flags.model.empty()) {
    const Model model = find_model(flags.model);
    jobs = model_shapes(model, flags.shapes);
    if (world.rank == 0)
      for (const std::string& line : sizes_left_out(model, flags.shapes))
        fmt::print(stderr, "warning: {}: those shapes are left out\n", line);
  }
  constexpr double kFirst = 1.0; // seconds, more than an op of a step takes
  if (!flags.reference.empty())
    for (const ReferenceRow& row : read_reference(flags.reference)) jobs.push_back({row.shape, kFirst});
  return order_by_information(std::move(jobs));
}

std::unique_ptr<Machine> open_machine(const Flags& flags, const World& world, Rendezvous* rendezvous) {
  if (flags.backend == "host") {
    if (rendezvous != nullptr) return process_machine(world, *rendezvous);
    return host_machine(static_cast<int>(usable_cpus().size()));
  }
  return cuda_machine({world.local_rank, world.rank, world.size, rendezvous});
}

// A rank that hangs in a call that cannot be interrupted must end all the same: ten seconds after a loss, at the
// latest.
void end_when_lost(const std::string& reason) {
  fmt::print(stderr, "error: {}; this rank stops, what was measured is kept\n", reason);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(kExitInput);
  }).detach();
}

std::unique_ptr<Rendezvous> meet(const Flags& flags, const World& world) {
  if (world.size == 1) return nullptr;
  RendezvousOptions options = rendezvous_from([](const char* name) { return std::getenv(name); }, flags.rendezvous);
  options.on_lost = end_when_lost;
  return std::make_unique<Rendezvous>(world, std::move(options));
}

MeasureOptions measure_options(const Flags& flags) {
  MeasureOptions o;
  o.stop.max_samples = 300;
  o.stop.max_seconds = 1.0;
  if (flags.backend == "host") {
    o.stop.max_seconds = 0.2;
    o.throttled_share = 0.98;
  } else {
    o.batch_seconds = 1e-3;
  }
  return o;
}

void print_jobs(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) fmt::print("{:10.3f} ms  {}\n", 1e3 * job.step_seconds, job.shape.text());
}

int summary(const SessionResult& r, const Flags& flags) {
  if (r.failed > 0 && flags.backend == "host" && !flags.realtime)
    fmt::print(stderr, "where other programs run, --realtime keeps them from cutting samples short\n");
  fmt::print(stderr, "{} shapes measured ({} rows failed), {} known before, {} not measurable here{}, {} left out{}\n",
             r.measured, r.failed, r.known, r.cannot, r.cannot > 0 ? " (run.json says why)" : "", r.left_out,
             r.left_out > 0 ? "; the same command goes on there" : "");
  return r.interrupted ? kExitInterrupted : kExitOk;
}

int measure_here(Flags& flags, const World& world, const std::vector<Job>& jobs) {
  const RealtimeScope scope(flags.realtime);
  const std::unique_ptr<Rendezvous> rendezvous = meet(flags, world);
  const std::unique_ptr<Machine> machine = open_machine(flags, world, rendezvous.get());
  catch_interrupts(); // on all ranks: a launcher passes Ctrl-C to each, and rank 0 decides when they end
  if (world.rank > 0) {
    follow_session(*machine, jobs, measure_options(flags),
                   [&] { return static_cast<Decision>(rendezvous->broadcast("")[0]); });
    return kExitOk;
  }
  SessionOptions options;
  options.folder = flags.folder;
  options.command = fmt::format("tessella-calib run --model {} --backend {} --budget {}{}", flags.model, flags.backend,
                                flags.budget, flags.reference.empty() ? "" : " --reference " + flags.reference);
  options.budget_seconds = parse_budget(flags.budget);
  options.force = flags.force;
  options.measure = measure_options(flags);
  options.interrupted = &interrupted();
  options.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  if (rendezvous) options.tell = [&](Decision d) { rendezvous->broadcast(std::string(1, static_cast<char>(d))); };
  return summary(run_session(*machine, jobs, options), flags);
}

int run(Flags& flags) {
  if (flags.list) {
    for (const auto& [op, kernel] : cuda_ops()) fmt::print("cuda {} {}\n", op, kernel);
    if (cuda_ops().empty()) fmt::print("cuda: not in this build\n");
    return kExitOk;
  }
  if (flags.model.empty() && flags.reference.empty())
    throw InputError("--model", "which model's shapes? tessella list models");
  const World world = world_from([](const char* name) { return std::getenv(name); });
  const std::vector<Job> jobs = jobs_of(flags, world);
  if (flags.dry_run) {
    print_jobs(jobs);
    return kExitOk;
  }
  if (flags.folder.empty()) throw InputError("-o", "where to? a folder such as calib/profiles/h200_sxm/DATE-run");
  try {
    return measure_here(flags, world, jobs);
  } catch (const NoDevice& error) {
    throw InputError("--backend", error.what());
  } catch (const RankLost&) { // said when it happened
    return kExitInput;
  }
}

} // namespace

void add_run(CLI::App& app, int& code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* c = app.add_subcommand("run", "measure the kernels and collectives a model needs on this machine");
  c->add_option("--model", flags->model, "name or YAML file of the model");
  c->add_option("--reference", flags->reference, "CSV of published kernel times: measure its shapes too, first");
  c->add_option("--ep", flags->shapes.ep, "expert-parallel sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--tp", flags->shapes.tp, "tensor-parallel sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--seq", flags->shapes.seq, "tokens of a sequence")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--precision", flags->precision, "bf16, fp8 or both")
      ->check(CLI::IsMember({"bf16", "fp8", "bf16,fp8"}))
      ->capture_default_str();
  c->add_option("--ranks", flags->shapes.ranks, "collectives over up to so many ranks")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--backend", flags->backend, "cuda or host; auto is cuda")
      ->check(CLI::IsMember({"auto", "cuda", "host"}))
      ->capture_default_str();
  c->add_option("--budget", flags->budget, "stop after 90s, 10m, 1h; the most informative shapes come first")
      ->capture_default_str();
  c->add_option("-o,--out", flags->folder, "folder; an unfinished one is continued");
  c->add_option("--rendezvous", flags->rendezvous, "file all ranks see, instead of MASTER_ADDR and MASTER_PORT");
  c->add_flag("--realtime", flags->realtime, "ask for real-time priority: for a host that others use too");
  c->add_flag("--force", flags->force, "continue a folder of another GPU, and mark it as mixed");
  c->add_flag("--dry-run", flags->dry_run, "only list the shapes, in order, with their share of a step");
  c->add_flag("--list", flags->list, "list the GPU benches in this build");
  c->footer("One process per GPU under srun, torchrun or mpirun; alone it measures all but the network.\n"
            "Example:\n  tessella-calib run --model qwen3_235b_a22b --ep 8,64 --tp 1,2 --budget 10m -o DIR");
  c->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella::calib
