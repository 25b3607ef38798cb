// baseline.yaml and expected/NAME.yaml: read or refused; what is read prints and reads back.
#include <string>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/load_baseline.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("config_baseline") {
  const std::string text(bytes);
  try {
    load_baseline_text("baseline.yaml", text);
  } catch (const InputError&) {
  }
  try {
    const Snapshot snapshot = load_expected_text("x.yaml", text);
    TSL_CHECK(load_expected_text("x.yaml", to_yaml(snapshot)) == snapshot);
  } catch (const InputError&) {
  }
}
