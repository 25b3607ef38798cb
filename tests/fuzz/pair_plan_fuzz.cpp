// Orders of pairs: refused with an InputError, or read; what is read prints and reads back equal.
#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/config/order_yaml.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("pair_plan") {
  try {
    const std::vector<PairOrder> orders = load_pair_orders_text("order.yaml", std::string(bytes));
    std::string text = orders.empty() ? "pairs: []\n" : "pairs:\n";
    for (const PairOrder& order : orders) text += to_yaml(order, "  - ", "    ");
    TSL_CHECK(load_pair_orders_text("order.yaml", text) == orders);
  } catch (const InputError&) {
  }
}
