// Which numbers of micro-batches each schedule takes, and that rule in words. The shape's other numbers are legal.
#pragma once

#include <string>

#include "sim/schedule/generators.h"

namespace tessella {

struct MicroBatchRule {
  bool (*accepts)(const ScheduleShape&) = nullptr;
  std::string (*text)(const ScheduleShape&) = nullptr; // the rule with its numbers, for a shape that breaks it
};

extern const MicroBatchRule kAnyMicroBatches; // m >= 1
extern const MicroBatchRule kMegatronGroups;  // with chunks: m >= N, and m mod N is 0 or >= p, so that a shorter last
                                              // group still fills the pipeline
extern const MicroBatchRule kTorchRounds;     // m mod max(1, m div p) = 0
extern const MicroBatchRule kMultipleOfPp;    // m mod p = 0
extern const MicroBatchRule kTwicePp;         // m >= 2p
extern const MicroBatchRule kDualPipe;        // m even and m >= 2p

} // namespace tessella
