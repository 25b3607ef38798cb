// Writes `{a: 1, b: "x"}`, and text so that it reads back as the same text.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tessella {

// The text as a YAML scalar: always in double quotes, with escapes where needed.
std::string quote_yaml(std::string_view text);

// A one-line map; keys in the order they are added.
class FlowMap {
 public:
  FlowMap& raw(std::string_view key, std::string_view value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
    return *this;
  }
  FlowMap& count(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }
  FlowMap& quote(std::string_view key, std::string_view value) { return raw(key, quote_yaml(value)); }
  FlowMap& flag_unless(std::string_view key, bool value, bool default_value) {
    return value == default_value ? *this : raw(key, value ? "true" : "false");
  }
  FlowMap& count_unless(std::string_view key, std::int64_t value, std::int64_t default_value) {
    return value == default_value ? *this : count(key, value);
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

} // namespace tessella
