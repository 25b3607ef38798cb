// Launch: who a process is, how ranks meet, and that a rank that dies is named to the others in time. The last test
// starts real processes of the program tessella-calib and kills one.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "calib/launch/rendezvous.h"
#include "calib/launch/socket.h"
#include "calib/launch/world.h"
#include "sim/base/error.h"

using namespace tessella;
using namespace tessella::calib;

extern char** environ;

namespace {

std::string program; // tessella-calib, from the command line

World world(std::map<std::string, std::string> variables) {
  return world_from([variables](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

std::string temporary(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(path);
  return path.string();
}

RendezvousOptions by_file(const std::string& file) {
  RendezvousOptions o;
  o.file = file;
  o.join_timeout = std::chrono::seconds(20);
  o.heartbeat = std::chrono::milliseconds(100);
  o.silence = std::chrono::seconds(2);
  return o;
}

// Runs body(rank) on threads that each think they are a process.
template <class Body>
void on_ranks(int size, Body body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) threads.emplace_back([&body, r] { body(r); });
  for (std::thread& t : threads) t.join();
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// tessella-calib run on the host as one of several ranks; standard error goes to `log`.
pid_t start_rank(int rank, int size, const std::string& meeting, const std::string& folder, const std::string& log) {
  std::vector<std::string> variables = {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size),
                                        "LOCAL_RANK=" + std::to_string(rank)};
  std::vector<char*> env;
  for (std::string& v : variables) env.push_back(v.data());
  for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
  env.push_back(nullptr);
  std::vector<std::string> arguments = {program, "run",      "--backend", "host",         "--model", "toy", "--seq",
                                        "128",   "--budget", "120s",      "--rendezvous", meeting,   "-o",  folder};
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  REQUIRE(posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), env.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

template <class Condition>
bool within(double seconds, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

} // namespace

TEST_CASE("Every launcher's variables are understood, and torchrun's win under srun") {
  CHECK(world({}) == World{0, 1, 0, ""});
  CHECK(world({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}) == World{3, 8, 1, "torchrun"});
  CHECK(world({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "5"}}) == World{5, 16, 5, "srun"});
  CHECK(world({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) ==
        World{1, 2, 1, "mpirun"});
  CHECK(world({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}) == World{0, 4, 0, "pmi"});
  CHECK(world({{"SLURM_NTASKS", "16"}}) == World{0, 1, 0, ""}); // a shell of salloc
  CHECK(world({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}).rank == 0);
  CHECK_THROWS_WITH_AS(world({{"RANK", "0"}}), doctest::Contains("WORLD_SIZE"), InputError);
  CHECK_THROWS_AS(world({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), InputError);
  CHECK_THROWS_AS(world({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), InputError);
}

TEST_CASE("Ranks meet over a shared file, pass a word and wait for each other") {
  const std::string file = temporary("tessella_meeting");
  std::vector<std::string> heard(4);
  on_ranks(4, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the others are earlier
    Rendezvous r({rank, 4, rank, ""}, by_file(file));
    std::string& mine = heard[static_cast<std::size_t>(rank)];
    for (int i = 0; i < 20; ++i) {
      mine += r.broadcast(rank == 0 ? std::to_string(i) : "");
      r.barrier();
    }
  });
  for (const std::string& text : heard) CHECK(text == "012345678910111213141516171819");
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("Ranks meet at an address") {
  const Socket probe = listen_on(0);
  const int port = port_of(probe);
  RendezvousOptions o = rendezvous_from(
      [port](const char* name) -> const char* {
        static const std::string text = std::to_string(port);
        return std::string(name) == "MASTER_ADDR"   ? "127.0.0.1"
               : std::string(name) == "MASTER_PORT" ? text.c_str()
                                                    : nullptr;
      },
      "");
  CHECK(o.port == port);
  // The probe holds the port: rank 0 must say so.
  o.join_timeout = std::chrono::seconds(5);
  CHECK_THROWS_WITH_AS(Rendezvous({0, 2, 0, ""}, o), doctest::Contains("MASTER_PORT"), InputError);
  CHECK_THROWS_AS(rendezvous_from([](const char*) -> const char* { return nullptr; }, ""), InputError);
}

TEST_CASE("A rank that never comes is named") {
  RendezvousOptions o = by_file(temporary("tessella_meeting_missing"));
  o.join_timeout = std::chrono::milliseconds(300);
  CHECK_THROWS_WITH_AS(Rendezvous({0, 3, 0, ""}, o), doctest::Contains("rank 1, 2 did not come"), InputError);
  CHECK_THROWS_WITH_AS(Rendezvous({2, 3, 2, ""}, o), doctest::Contains("cannot reach rank 0"), InputError);
}

TEST_CASE("Two ranks of the same number do not pass") {
  const std::string file = temporary("tessella_meeting_twice");
  std::vector<std::string> errors(3);
  on_ranks(3, [&](int thread) {
    RendezvousOptions o = by_file(file);
    o.join_timeout = std::chrono::seconds(3);
    try {
      Rendezvous r({thread == 2 ? 1 : thread, 3, 0, ""}, o);
    } catch (const InputError& e) {
      errors[static_cast<std::size_t>(thread)] = e.what();
    }
  });
  CHECK(errors[0].find("taken") != std::string::npos);
}

TEST_CASE("A process that is killed stops the others within seconds, and they say which rank it was") {
  if (program.empty()) {
    MESSAGE("skipped: no program given");
    return;
  }
  const std::string meeting = temporary("tessella_meeting_killed");
  const std::string folder = temporary("tessella_killed_run");
  std::vector<pid_t> pids;
  std::vector<std::string> logs;
  for (int r = 0; r < 3; ++r) {
    logs.push_back(temporary("tessella_killed_log_" + std::to_string(r)));
    pids.push_back(start_rank(r, 3, meeting, folder, logs.back()));
  }
  // Until the first shape is measured: then all three are at work.
  const bool started = within(60.0, [&] { return text_of(logs[0]).find(" cold:") != std::string::npos; });
  CHECK_MESSAGE(started, text_of(logs[0]));
  kill(pids[2], SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  for (int r = 0; r < 3; ++r) {
    int status = 0;
    const bool ended = within(30.0, [&] { return waitpid(pids[static_cast<std::size_t>(r)], &status, WNOHANG) != 0; });
    CHECK(ended);
    if (!ended) kill(pids[static_cast<std::size_t>(r)], SIGKILL);
    if (r < 2) {
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 2);
      const std::string log = text_of(logs[static_cast<std::size_t>(r)]);
      CHECK_MESSAGE(log.find("rank 2 (") != std::string::npos, log);
      CHECK_MESSAGE(log.find("process " + std::to_string(pids[2])) != std::string::npos, log);
    }
  }
  CHECK(std::chrono::steady_clock::now() - killed < std::chrono::seconds(30));
  CHECK(std::filesystem::exists(folder + "/raw.csv")); // what was measured is kept
}

TEST_CASE("An interrupt that reaches all ranks ends them after the current shape, and nobody counts as dead") {
  if (program.empty()) return;
  const std::string meeting = temporary("tessella_meeting_interrupted");
  const std::string folder = temporary("tessella_interrupted_run");
  std::vector<pid_t> pids;
  std::vector<std::string> logs;
  for (int r = 0; r < 2; ++r) {
    logs.push_back(temporary("tessella_interrupted_log_" + std::to_string(r)));
    pids.push_back(start_rank(r, 2, meeting, folder, logs.back()));
  }
  CHECK(within(60.0, [&] { return text_of(logs[0]).find(" cold:") != std::string::npos; }));
  for (const pid_t pid : pids) kill(pid, SIGINT);
  for (std::size_t r = 0; r < 2; ++r) {
    int status = 0;
    const bool ended = within(30.0, [&] { return waitpid(pids[r], &status, WNOHANG) != 0; });
    CHECK(ended);
    if (!ended) kill(pids[r], SIGKILL);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (r == 0 ? 130 : 0));
    CHECK_MESSAGE(text_of(logs[r]).find("error") == std::string::npos, text_of(logs[r]));
  }
}

TEST_CASE("A run that is killed or interrupted keeps its rows, and the same command goes on there") {
  if (program.empty()) return;
  const std::string folder = temporary("tessella_resumed_run");
  const std::string log = temporary("tessella_resumed_log");
  const auto rows = [&] {
    const std::string text = text_of(folder + "/raw.csv");
    return std::count(text.begin(), text.end(), '\n') - 1;
  };
  int status = 0;
  pid_t pid = start_rank(0, 1, "unused", folder, log);
  CHECK(within(60.0, [&] { return rows() >= 2; }));
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  const std::string kept = text_of(folder + "/raw.csv");
  const std::string whole = kept.substr(0, kept.rfind('\n') + 1); // a line may have been cut off

  pid = start_rank(0, 1, "unused", folder, log);
  const auto before = rows();
  CHECK(within(60.0, [&] { return rows() >= before + 2; }));
  kill(pid, SIGINT);
  CHECK(within(30.0, [&] { return waitpid(pid, &status, WNOHANG) != 0; }));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(text_of(folder + "/raw.csv").starts_with(whole)); // nothing measured is lost or measured again
  const std::string record = text_of(folder + "/run.json");
  CHECK(record.find("\"complete\": false") != std::string::npos);
  CHECK(record.find("gemm") != std::string::npos); // what is left out is listed
}

TEST_CASE("Sizes that are no sizes are refused") {
  if (program.empty()) return;
  for (const char* flag : {"--ep 0", "--ep 8,-3", "--tp 0", "--ranks 0"}) {
    const int status = std::system((program + " run --model toy --dry-run " + flag + " >/dev/null 2>&1").c_str());
    CHECK_MESSAGE(WIFEXITED(status), flag);
    CHECK_MESSAGE(WEXITSTATUS(status) == 2, flag);
  }
}

int main(int argc, char** argv) {
  if (argc > 1) program = argv[1];
  return doctest::Context().run();
}
