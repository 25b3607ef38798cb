// SWEEP.yaml: read or refused with its documented error.
#include <string>

#include "sim/base/error.h"
#include "sim/config/load_sweep.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("config_sweep") {
  try {
    load_sweep_text("sweep.yaml", std::string(bytes));
  } catch (const InputError&) {
  }
}
