// What nccl-tests printed: rows that are accepted have a size and a time.
#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/nccl_log.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("nccl_log") {
  using namespace tessella;
  try {
    for (const NcclRow& row : load_nccl_log_text("fuzz.log", std::string(bytes)))
      TSL_CHECK(row.size.count > 0 && row.seconds > 0.0);
  } catch (const InputError& error) {
    TSL_CHECK(!format_error(error).empty());
  }
}
