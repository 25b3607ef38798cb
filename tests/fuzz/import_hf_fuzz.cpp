// config.json: imported, or refused with its documented error.
#include <string>

#include "sim/base/error.h"
#include "sim/config/import_hf.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("import_hf") {
  try {
    import_hf("config.json", std::string(bytes), "m");
  } catch (const InputError&) {
  }
}
