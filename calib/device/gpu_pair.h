// An overlapped forward-backward pair on one GPU: compute on one stream, a stand-in for the all-to-alls on another,
// with the dependencies of a MoE layer pair. Executed, and predicted from times measured alone and factors measured
// beside the stand-in (calib/loop/two_streams.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessella::calib {

struct PairSpec {
  std::int64_t tokens = 4096;
  std::int64_t hidden = 4096;
  std::int64_t heads_width = 8192; // of the queries
  std::int64_t expert_rows = 32768;
  std::int64_t expert_ffn = 1536;
  int sms = 20;            // held by communication
  double gbps = 200.0;     // of memory traffic of communication
  double transfer = 0.5e9; // bytes read and written by one dispatch or combine
};

struct PairResult {
  double serial = 0.0;   // seconds: all ops one after another
  double executed = 0.0; // median
  double mad = 0.0;
  double predicted = 0.0;
  double error = 0.0;               // predicted / executed - 1
  std::vector<std::string> details; // one line per op
};

// Throws NoDevice (calib/device/machine.h).
PairResult run_gpu_pair(const PairSpec& spec, int device);

} // namespace tessella::calib
