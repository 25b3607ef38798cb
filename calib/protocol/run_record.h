// run.json beside raw.csv: what was measured, on what, by which command. A folder belongs to one device: a run on
// another one is refused, unless it is forced, and then says so in every later reading.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessella::calib {

struct DeviceIdentity {
  std::string backend; // "cuda" or "host"
  std::string gpu;     // as the driver names it; on the host the CPU model
  std::string driver;  // "" where there is none, as below
  std::string cuda;
  std::string nccl;
  bool operator==(const DeviceIdentity&) const = default;
};

struct RunRecord {
  DeviceIdentity device;
  std::string date; // of the first run, UTC
  std::string command;
  std::vector<std::pair<std::string, std::string>> facts; // clocks, limits, versions: name and value, in order
  std::vector<std::string> left_out;                      // shapes the budget did not reach
  std::vector<std::string> not_measured;                  // what this machine cannot measure, and why
  std::vector<std::string> mixed_with;                    // other devices, after --force
  bool complete = false;                                  // everything that was asked for was tried
  bool operator==(const RunRecord&) const = default;
};

std::string to_json(const RunRecord& record);
// Throws InputError with the byte where it stops making sense.
RunRecord read_run_record(const std::string& path);

// The record to continue in a folder that holds `old`: device, date and mixtures of the old, the rest of the new.
// Throws InputError when the devices differ (by GPU or backend; another driver is noted) and `force` is false.
RunRecord continue_record(const RunRecord& old, RunRecord fresh, const std::string& folder, bool force);

// "2026-11-29T23:15:00Z"
std::string utc_now();

} // namespace tessella::calib
