// torchtitan jobs and Chakra traces: imported, or refused with the documented error.
#include <sstream>
#include <string>

#include "sim/base/error.h"
#include "sim/config/import_chakra.h"
#include "sim/config/import_torchtitan.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("import_jobs") {
  try {
    import_torchtitan("job.toml", std::string(bytes), {});
  } catch (const InputError&) {
  }
  try {
    std::istringstream in{std::string(bytes)};
    read_chakra("t.et", in);
  } catch (const InputError&) {
  }
}
