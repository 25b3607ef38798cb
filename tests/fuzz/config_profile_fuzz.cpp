#include "sim/config/dump.h"
#include "sim/config/load.h"
#include "tests/fuzz/config_fuzz.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("config_profile") {
  using namespace tessella;
  testing::read_and_write(std::string(bytes), load_profile_text, [](const Profile& value) { return to_yaml(value); });
}
