// Looking up fields of a config.json under their aliases. Part of import_hf.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessella {

using Keys = std::initializer_list<const char*>;

class HfConfig {
 public:
  // The object, or its text_config where the language model of a multimodal one stands.
  HfConfig(std::string file_name, const std::string& text);

  [[noreturn]] void fail(const std::string& message) const;
  const std::string& model_type() const { return model_type_; }
  bool is(std::initializer_list<std::string_view> types) const;
  bool has(const char* key) const; // present and not null
  const nlohmann::json& at(const char* key) const { return root_.at(key); }

  // The first key that is there wins; a warning when a later one says something else. Counts are 0 to 2^40.
  std::optional<std::int64_t> count(Keys keys);
  std::int64_t required(const char* what, Keys keys);
  std::int64_t count_or(std::int64_t otherwise, Keys keys) { return count(keys).value_or(otherwise); }
  bool flag(Keys keys, bool otherwise);
  std::string text(Keys keys) const; // "" when absent
  // A list of counts or booleans; empty when absent or not a list.
  std::vector<std::int64_t> counts(const char* key) const;
  std::vector<std::string> texts(const char* key) const;

  std::vector<std::string> warnings;

 private:
  std::int64_t to_count(const char* key, const nlohmann::json& value) const;

  std::string file_;
  nlohmann::json root_;
  std::string model_type_;
};

} // namespace tessella
