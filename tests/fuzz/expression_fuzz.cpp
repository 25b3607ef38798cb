// Conditions: parsed, or refused with a column inside the text; what is parsed can be evaluated, whatever the names
// are.
#include <string>

#include "sim/base/check.h"
#include "sim/domain/expression.h"
#include "tests/support/fuzz.h"

using namespace tessella;

FUZZ_TARGET("expression") {
  const std::string text(bytes);
  try {
    const Expression expression = Expression::parse(text);
    TSL_CHECK(Expression::parse(expression.text()) == expression);
    expression.holds([](const std::string& name) -> ExprValue {
      if (name.size() % 3 == 0) return std::monostate{};
      if (name.size() % 3 == 1) return 1.0;
      return name;
    });
  } catch (const ExpressionError& error) {
    TSL_CHECK_OP(error.column(), >=, 1);
    TSL_CHECK_OP(error.column(), <=, static_cast<int>(text.size()) + 1);
  }
}
