#include <doctest/doctest.h>

#include "sim/domain/expression.h"

using namespace tessella;

namespace {

bool holds(const std::string& text) {
  return Expression::parse(text).holds([](const std::string& name) -> ExprValue {
    if (name == "tp") return 2.0;
    if (name == "batch.gbs") return 64.0;
    if (name == "status") return std::string("ok");
    return std::monostate{};
  });
}

int column_of_error(const std::string& text) {
  try {
    Expression::parse(text);
  } catch (const ExpressionError& error) {
    return error.column();
  }
  return 0;
}

} // namespace

TEST_CASE("Conditions bind as in arithmetic: products, sums, comparisons, not, and, or") {
  CHECK(holds("tp * 3 + 1 == 7"));
  CHECK(holds("1 + tp * 3 == 7"));
  CHECK(holds("(1 + tp) * 3 == 9"));
  CHECK(holds("batch.gbs % 10 == 4"));
  CHECK(holds("-tp + 4 == tp"));
  CHECK(holds("7 - 2 - 1 == 4"));
  CHECK(holds("tp == 3 and tp == 3 or tp == 2"));
  CHECK_FALSE(holds("tp == 3 and (tp == 3 or tp == 2)"));
  CHECK(holds("not tp == 3 and tp >= 2"));
  CHECK(holds("batch.gbs / tp >= 1e1"));
}

TEST_CASE("Texts compare with texts; what has no value fails every comparison") {
  CHECK(holds("status == 'ok'"));
  CHECK(holds("status != \"illegal\""));
  CHECK(holds("status != 2"));
  CHECK_FALSE(holds("status < 2"));
  CHECK_FALSE(holds("mfu > 0"));
  CHECK_FALSE(holds("mfu != 0"));
  CHECK(holds("not mfu > 0"));
  CHECK_FALSE(holds("1 / (tp - 2) > 0"));
}

TEST_CASE("A condition that does not parse says where") {
  CHECK(column_of_error("") == 1);
  CHECK(column_of_error("tp >") == 5);
  CHECK(column_of_error("tp = 2") == 4);
  CHECK(column_of_error("(tp == 2") == 9);
  CHECK(column_of_error("status == 'ok") == 11);
  CHECK(column_of_error("tp == 2 pp == 3") == 9);
  CHECK(column_of_error(std::string(1000, '(')) == 65);
  CHECK(Expression::parse("tp * pp <= tp").names() == std::vector<std::string>{"tp", "pp"});
}
