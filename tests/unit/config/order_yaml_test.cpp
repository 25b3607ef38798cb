// Orders of pairs in files: what is written reads back, and what is wrong is said with its place.
#include <doctest/doctest.h>

#include <string>

#include "sim/base/error.h"
#include "sim/config/order_yaml.h"

using namespace tessella;

namespace {

std::string refusal(const std::string& text) {
  try {
    load_pair_orders_text("order.yaml", text);
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "accepted";
}

PairOrder some_order() {
  PairOrder order{"embedding+2*moe", "moe+head", {}, {21'385'300'000}};
  order.plan.compute = {{0, false, TaskPart::attention, 0, 0}, {1, false, TaskPart::experts, 0, 1}};
  order.plan.ep = {{1, false, TaskPart::combine, 0, 0}};
  return order;
}

} // namespace

TEST_CASE("One order, a list of orders, and long lanes read back") {
  PairOrder order = some_order();
  CHECK(to_yaml(order) == "first: \"embedding+2*moe\"\nsecond: \"moe+head\"\npost_overlap: 21385.3 us\n"
                          "passes: [F, B]\ncompute: [F_ATTN.0, B_MLP.0']\nep: [B_COMB.0]\n");
  CHECK(load_pair_orders_text("o", to_yaml(order)) == std::vector{order});
  for (std::int32_t i = 1; i < 60; ++i) order.plan.compute.push_back({0, false, TaskPart::attention, i, 0});
  const PairOrder bare{"", "", some_order().plan, {}};
  const std::string list = "pairs:\n" + to_yaml(order, "  - ", "    ") + to_yaml(bare, "  - ", "    ");
  CHECK(load_pair_orders_text("o", list) == std::vector{order, bare});
  CHECK(load_pair_orders_text("o", to_yaml(bare)) == std::vector{bare});
}

TEST_CASE("Lists may be written as people write YAML, and passes may be left out") {
  const auto orders = load_pair_orders_text("order.yaml", "# ours\n"
                                                          "ep:\n"
                                                          "  - B_COMB.0\n"
                                                          "  - F_DISP.0\n"
                                                          "compute: [F_ATTN.0,   # first\n"
                                                          "          B_MLP.0]\n");
  CHECK(to_text(orders.at(0).plan) == "passes: [F, B]\ncompute: [F_ATTN.0, B_MLP.0]\nep: [B_COMB.0, F_DISP.0]\n");
}

TEST_CASE("What is wrong is said with its place") {
  CHECK(refusal("passes: [F, B]\ncompute: [F_ATTN.0, F_ATN.1]\nep: []\n")
            .starts_with("order.yaml:2:21: error: 'F_ATN.1' is not the name of a task"));
  CHECK(refusal("passes: [F, B]\ncompte: []\nep: []\n").find("did you mean 'compute'") != std::string::npos);
  CHECK(refusal("compute: []\ncompute: []\nep: []\n").find("compute") != std::string::npos);
  CHECK(refusal("passes: [F, W]\ncompute: []\nep: []\n").starts_with("order.yaml:1:13"));
  CHECK(refusal("passes: [F]\ncompute: []\nep: []\n").find("two of F and B") != std::string::npos);
  CHECK(refusal("passes: [F, B]\ncompute: []\n").find("'ep'") != std::string::npos);
  CHECK(refusal("pairs:\n  - {compute: [], ep: [B_COMB]}\n").starts_with("order.yaml:2:24"));
  CHECK(refusal("pairs: []\nplans: 1\n").find("plans") != std::string::npos);
  CHECK(refusal("F_ATTN.0\n") != "accepted");
  CHECK(refusal("") != "accepted");
}

TEST_CASE("A task of an order that was read can be found again in the text") {
  const std::string list = "pairs:\n" + to_yaml(some_order(), "  - ", "    ") + to_yaml(some_order(), "  - ", "    ");
  const SourceSpan task = position_of("o.yaml", list, {1, "compute", 1});
  CHECK(task.line == 12);
  CHECK(task.line_text.substr(static_cast<std::size_t>(task.column) - 1, 8) == "B_MLP.0'");
  CHECK(position_of("o.yaml", list, {0, "ep", std::string::npos}).line == 7);
  CHECK(position_of("o.yaml", list, {1, "", 0}).line == 8);
  CHECK(position_of("o.yaml", to_yaml(some_order()), {0, "ep", 0}).line == 6);
}
