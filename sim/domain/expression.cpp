#include "sim/domain/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/check.h"

namespace tessella {
namespace {

using Op = Expression::Op;
using Step = Expression::Step;

constexpr std::size_t kMaxText = 10'000;
constexpr int kMaxDepth = 64;

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

// Recursive descent, one function per level of binding, loosest first; writes postfix steps.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::vector<Step> parse() {
    either(0);
    skip_blanks();
    if (at_ < text_.size()) fail("expected the end, or 'and', 'or', a comparison");
    return std::move(steps_);
  }

 private:
  using Table = std::initializer_list<std::pair<std::string_view, Op>>;

  [[noreturn]] void fail(const std::string& message) const {
    throw ExpressionError(static_cast<int>(at_) + 1, message);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  // Takes the first symbol or word of the table that stands here.
  std::optional<Op> take(Table table) {
    skip_blanks();
    for (const auto& [word, op] : table) {
      if (text_.compare(at_, word.size(), word) != 0) continue;
      const std::size_t end = at_ + word.size();
      if (starts_name(word[0]) && end < text_.size() && continues_name(text_[end])) continue;
      at_ = end;
      return op;
    }
    return std::nullopt;
  }
  void emit(Op op) { steps_.push_back({op, 0.0, {}}); }

  void either(int depth) {
    both(depth);
    while (take({{"or", Op::either}})) {
      both(depth);
      emit(Op::either);
    }
  }
  void both(int depth) {
    negated(depth);
    while (take({{"and", Op::both}})) {
      negated(depth);
      emit(Op::both);
    }
  }
  void negated(int depth) {
    if (!take({{"not", Op::negate}})) return comparison(depth);
    if (depth >= kMaxDepth) fail("nested too deep");
    negated(depth + 1);
    emit(Op::negate);
  }
  void comparison(int depth) {
    sum(depth);
    const auto op =
        take({{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}});
    if (!op) return;
    sum(depth);
    emit(*op);
  }
  void sum(int depth) {
    product(depth);
    while (const auto op = take({{"+", Op::add}, {"-", Op::sub}})) {
      product(depth);
      emit(*op);
    }
  }
  void product(int depth) {
    atom(depth);
    while (const auto op = take({{"*", Op::mul}, {"/", Op::div}, {"%", Op::mod}})) {
      atom(depth);
      emit(*op);
    }
  }
  void atom(int depth) {
    if (depth >= kMaxDepth) fail("nested too deep");
    skip_blanks();
    if (take({{"-", Op::invert}})) {
      atom(depth + 1);
      return emit(Op::invert);
    }
    if (take({{"(", Op::number}})) {
      either(depth + 1);
      if (!take({{")", Op::number}})) fail("expected ')'");
      return;
    }
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '\'' || c == '"') return quoted(c);
    if (starts_name(c)) return name();
    number();
  }
  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("the quote is not closed");
    steps_.push_back({Op::text, 0.0, text_.substr(at_ + 1, end - at_ - 1)});
    at_ = end + 1;
  }
  void name() {
    std::size_t end = at_;
    while (end < text_.size() && continues_name(text_[end])) ++end;
    steps_.push_back({Op::name, 0.0, text_.substr(at_, end - at_)});
    at_ = end;
  }
  void number() {
    double value = 0.0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) fail("expected a number, a name, a text in quotes, or '('");
    at_ += static_cast<std::size_t>(end - begin);
    steps_.push_back({Op::number, value, {}});
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<Step> steps_;
};

bool truth(const ExprValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && *number != 0.0;
}

template <class T>
bool compare(Op op, const T& a, const T& b) {
  switch (op) {
  case Op::eq:
    return a == b;
  case Op::ne:
    return a != b;
  case Op::lt:
    return a < b;
  case Op::le:
    return a <= b;
  case Op::gt:
    return a > b;
  default:
    return a >= b;
  }
}

ExprValue arithmetic(Op op, double a, double b) {
  double result = 0.0;
  switch (op) {
  case Op::add:
    result = a + b;
    break;
  case Op::sub:
    result = a - b;
    break;
  case Op::mul:
    result = a * b;
    break;
  case Op::div:
    result = a / b;
    break;
  default:
    result = std::fmod(a, b);
  }
  if (!std::isfinite(result)) return std::monostate{};
  return result;
}

ExprValue binary(Op op, const ExprValue& a, const ExprValue& b) {
  if (op == Op::both) return truth(a) && truth(b) ? 1.0 : 0.0;
  if (op == Op::either) return truth(a) || truth(b) ? 1.0 : 0.0;
  const double* x = std::get_if<double>(&a);
  const double* y = std::get_if<double>(&b);
  if (op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::mod)
    return x && y ? arithmetic(op, *x, *y) : ExprValue{};
  if (x && y) return compare(op, *x, *y) ? 1.0 : 0.0;
  const auto* s = std::get_if<std::string>(&a);
  const auto* t = std::get_if<std::string>(&b);
  if (s && t) return compare(op, *s, *t) ? 1.0 : 0.0;
  const bool both_there = (x || s) && (y || t);
  return both_there && op == Op::ne ? 1.0 : 0.0;
}

} // namespace

Expression Expression::parse(const std::string& text) {
  if (text.size() > kMaxText) throw ExpressionError(1, fmt::format("longer than {} characters", kMaxText));
  Expression expression;
  expression.text_ = text;
  expression.steps_ = Parser(text).parse();
  return expression;
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> out;
  for (const Step& step : steps_)
    if (step.op == Op::name && std::find(out.begin(), out.end(), step.text) == out.end()) out.push_back(step.text);
  return out;
}

bool Expression::holds(const Lookup& lookup) const {
  std::vector<ExprValue> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      stack.emplace_back(step.number);
    } else if (step.op == Op::text) {
      stack.emplace_back(step.text);
    } else if (step.op == Op::name) {
      stack.push_back(lookup(step.text));
    } else if (step.op == Op::negate) {
      stack.back() = truth(stack.back()) ? 0.0 : 1.0;
    } else if (step.op == Op::invert) {
      const double* number = std::get_if<double>(&stack.back());
      stack.back() = number ? ExprValue{-*number} : ExprValue{};
    } else {
      const ExprValue right = std::move(stack.back());
      stack.pop_back();
      stack.back() = binary(step.op, stack.back(), right);
    }
  }
  TSL_CHECK_OP(stack.size(), ==, 1U);
  return truth(stack[0]);
}

} // namespace tessella
