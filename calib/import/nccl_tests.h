// nccl-tests' output, the table it prints or the JSON it writes (-J): one row per size, out of place; sizes, times and
// ranks as they stand there. Rows with wrong elements are dropped.
#pragma once

#include <string>

#include "calib/import/imported.h"

namespace tessella::calib {

// `op` (all_reduce, ...) may be empty when the text names its program (the JSON does, newer tables do). Throws
// InputError when it is neither, or when no rank is listed.
Imported import_nccl_tests(const std::string& name, const std::string& text, const std::string& op);

} // namespace tessella::calib
