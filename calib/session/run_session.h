// One run of measuring: jobs in order of information, rows into the folder as they come, until everything is measured,
// the budget is spent or somebody interrupts. The same call on the same folder goes on where the last one stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calib/device/machine.h"
#include "calib/protocol/work_queue.h"

namespace tessella::calib {

// With several processes, rank 0 decides about each job, and the others follow.
enum class Decision : char { measure = 'm', skip = 's', end = 'e' };

struct SessionOptions {
  std::string folder;
  std::string command;         // for the record
  double budget_seconds = 600; // of wall time
  bool force = false;          // continue a folder of another device
  MeasureOptions measure;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const std::string&)> say;
  std::function<void(Decision)> tell; // to the other ranks, for every job and once at the end; may be empty
};

struct SessionResult {
  std::int64_t measured = 0; // shapes, in this run
  std::int64_t known = 0;    // from earlier runs
  std::int64_t failed = 0;   // rows that are not ok, in this run
  std::int64_t left_out = 0; // by the budget or the interrupt
  std::int64_t cannot = 0;   // not on this machine
  bool interrupted = false;
};

// Writes raw.csv and run.json. Throws InputError for a folder of another device, or that cannot be written.
SessionResult run_session(Machine& machine, const std::vector<Job>& jobs, const SessionOptions& options);

// What the other ranks do: the same jobs, no files.
void follow_session(Machine& machine, const std::vector<Job>& jobs, const MeasureOptions& options,
                    const std::function<Decision()>& hear);

} // namespace tessella::calib
