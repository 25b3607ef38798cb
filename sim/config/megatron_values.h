// Megatron-LM flags with types: counts, texts, lists, switches. Part of import_megatron.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/config/megatron_args.h"
#include "sim/config/message.h"

namespace tessella {

inline std::string flag_name(const char* flag) {
  return std::string("--") + flag;
}

// The flags of one launch, typed.
class MegatronValues {
 public:
  explicit MegatronValues(MegatronArgs args) : args_(std::move(args)) {}

  bool on(const char* flag) const { return args_.has(flag); }
  // The value of a flag, else of one of the variables that people set instead.
  std::optional<std::string> text(const char* flag, std::initializer_list<const char*> variables = {}) const {
    if (const auto at = args_.flags.find(flag); at != args_.flags.end() && !at->second.empty())
      return checked(flag_name(flag), at->second[0]);
    for (const char* name : variables)
      if (const auto at = args_.variables.find(name); at != args_.variables.end() && !at->second.empty())
        return checked(name, at->second);
    return std::nullopt;
  }
  std::optional<std::int64_t> count(const char* flag, std::initializer_list<const char*> variables = {}) const {
    const auto value = text(flag, variables);
    if (!value) return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size() || number < 0 || number > (std::int64_t{1} << 40))
      throw InputError(flag_name(flag), fmt::format("{} is not a count", in_quotes(*value)));
    return number;
  }
  std::vector<std::string> list(const char* flag) const {
    const auto at = args_.flags.find(flag);
    return at == args_.flags.end() ? std::vector<std::string>{} : at->second;
  }
  std::int64_t required(const char* flag, std::initializer_list<const char*> variables = {}) const {
    const auto value = count(flag, variables);
    if (value) return *value;
    std::string also;
    for (const char* name : variables) also += fmt::format(", {}=...", name);
    throw InputError(flag_name(flag), fmt::format("is missing; looked for --{}{}", flag, also));
  }
  const MegatronArgs& args() const { return args_; }

 private:
  static std::string checked(const std::string& what, const std::string& value) {
    if (value.find('$') == std::string::npos) return value;
    throw InputError(what, fmt::format("is {}, a variable without a value; give it as NAME=VALUE", in_quotes(value)));
  }

  MegatronArgs args_;
};

} // namespace tessella
