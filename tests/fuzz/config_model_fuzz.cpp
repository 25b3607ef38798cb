#include "sim/config/dump.h"
#include "sim/config/load.h"
#include "tests/fuzz/config_fuzz.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("config_model") {
  using namespace tessella;
  testing::read_and_write(std::string(bytes), load_model_text, [](const Model& value) { return to_yaml(value); });
}
