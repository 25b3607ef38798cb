// The "[tuning] Best dispatch" and "[tuning] Best combine" lines of DeepEP's tests, intranode and internode, of the
// versions that print a time ("t: 123 us", "45 + 678 us", "transmit: 678.9 us, notify: 45.6 us") and of those that
// print bandwidths only.
#pragma once

#include <cstdint>
#include <string>

#include "calib/import/imported.h"

namespace tessella::calib {

struct DeepEpSetting {
  std::int64_t ranks = 8;
  std::int64_t tokens = 4096;
  std::int64_t hidden = 7168;
  std::int64_t topk = 8;
};

// Rows dispatch_deepep (dtype fp8 or bf16) and combine_deepep (bf16), dims sms tokens hidden topk; the notification is
// in the note, the time is that of the data. Lines with a bandwidth only are dropped: what it divides by is not in
// them.
Imported import_deepep(const std::string& name, const std::string& text, const DeepEpSetting& setting);

} // namespace tessella::calib
