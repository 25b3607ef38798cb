#include "sim/config/dump.h"
#include "sim/config/load.h"
#include "tests/fuzz/config_fuzz.h"
#include "tests/support/fuzz.h"

FUZZ_TARGET("config_topology") {
  using namespace tessella;
  testing::read_and_write(std::string(bytes), load_topology_text, [](const Cluster& value) { return to_yaml(value); });
}
