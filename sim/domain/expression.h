// Small conditions over named values: the constraints of a sweep and `--where "mfu > 0.3 and status == 'ok'"`.
//   condition   a or b, a and b, not a, (a); loosest first
//   comparison  == != < <= > >=      between numbers, or between texts
//   number      + - * / %            1, 0.5, 1e-3, names
//   text        'single' or "double" quotes
//   name        letters, digits and _ joined by dots: parallelism.tp, mfu
// A name may have no value (the MFU of a plan that was refused): arithmetic on it has none either, and a comparison
// with it is false, whatever the operator. A number and a text are different, and neither is less than the other.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace tessella {

// A condition that does not parse; `column` counts bytes from 1.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(int column, const std::string& message) : std::runtime_error(message), column_(column) {}
  int column() const { return column_; }

 private:
  int column_;
};

using ExprValue = std::variant<std::monostate, double, std::string>;
using Lookup = std::function<ExprValue(const std::string& name)>;

class Expression {
 public:
  // Throws ExpressionError. At most 10,000 bytes, nested at most 64 deep. O(text).
  static Expression parse(const std::string& text);

  const std::string& text() const { return text_; }
  // Every name in it, each once, in order of appearance.
  std::vector<std::string> names() const;
  // O(steps).
  bool holds(const Lookup& lookup) const;

  enum class Op { number, text, name, add, sub, mul, div, mod, eq, ne, lt, le, gt, ge, both, either, negate, invert };
  struct Step { // postfix order
    Op op = Op::number;
    double number = 0.0;
    std::string text; // of a text or a name
    bool operator==(const Step&) const = default;
  };
  bool operator==(const Expression&) const = default;

 private:
  std::string text_;
  std::vector<Step> steps_;
};

} // namespace tessella
