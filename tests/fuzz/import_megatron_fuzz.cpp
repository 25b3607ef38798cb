// Launch scripts and flags: imported, or refused with its documented error. With a model and without.
#include <string>

#include "sim/base/error.h"
#include "sim/config/import_megatron.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("import_megatron") {
  for (const bool named : {false, true}) {
    MegatronSettings settings;
    settings.name = "e";
    if (named) settings.model = "m";
    try {
      import_megatron({{"args", std::string(bytes)}}, settings, "e.model.yaml");
    } catch (const InputError&) {
    }
  }
}
