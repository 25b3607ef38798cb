#include "sim/config/hf_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/config/message.h"

namespace tessella {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

std::string list_keys(Keys keys) {
  std::string out;
  for (const char* key : keys) out += (out.empty() ? "" : ", ") + std::string(key);
  return out;
}

} // namespace

HfConfig::HfConfig(std::string file_name, const std::string& text) : file_(std::move(file_name)) {
  // A tokenizer or a checkpoint index in the wrong place is refused by what it lacks, not by its depth: the parser and
  // the destructor of a document do not recurse.
  root_ = nlohmann::json::parse(text, nullptr, false);
  if (root_.is_discarded()) fail("is not JSON; expected a config.json");
  if (!root_.is_object()) fail("is not a JSON object; expected a config.json");
  const auto nested = root_.find("text_config");
  if (nested != root_.end() && nested->is_object() && !root_.contains("num_hidden_layers")) {
    nlohmann::json inner = *nested;
    if (!inner.contains("tie_word_embeddings") && root_.contains("tie_word_embeddings"))
      inner["tie_word_embeddings"] = root_["tie_word_embeddings"];
    root_ = std::move(inner);
    warnings.push_back("only the language model is imported: text_config");
  }
  model_type_ = this->text({"model_type"});
}

void HfConfig::fail(const std::string& message) const {
  throw InputError(file_, message);
}

bool HfConfig::is(std::initializer_list<std::string_view> types) const {
  return std::find(types.begin(), types.end(), model_type_) != types.end();
}

bool HfConfig::has(const char* key) const {
  const auto at = root_.find(key);
  return at != root_.end() && !at->is_null();
}

std::int64_t HfConfig::to_count(const char* key, const nlohmann::json& value) const {
  if (!value.is_number_integer() || value < 0 || value > kMaxCount)
    fail(fmt::format("{} is {}, not a count", key,
                     in_quotes(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace))));
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> HfConfig::count(Keys keys) {
  std::optional<std::int64_t> found;
  std::string from;
  for (const char* key : keys) {
    if (!has(key)) continue;
    const std::int64_t value = to_count(key, root_.at(key));
    if (!found) {
      found = value;
      from = key;
    } else if (value != *found) {
      warnings.push_back(
          fmt::format("{} is {} and {} is {}: {} counts, it is the model's own key", from, *found, key, value, from));
    }
  }
  return found;
}

std::int64_t HfConfig::required(const char* what, Keys keys) {
  const auto value = count(keys);
  if (!value) fail(fmt::format("has no {}; looked for {}", what, list_keys(keys)));
  return *value;
}

bool HfConfig::flag(Keys keys, bool otherwise) {
  for (const char* key : keys)
    if (has(key)) {
      if (!root_.at(key).is_boolean()) fail(fmt::format("{} is not true or false", key));
      return root_.at(key).get<bool>();
    }
  return otherwise;
}

std::string HfConfig::text(Keys keys) const {
  for (const char* key : keys)
    if (has(key) && root_.at(key).is_string()) return root_.at(key).get<std::string>();
  return "";
}

std::vector<std::int64_t> HfConfig::counts(const char* key) const {
  std::vector<std::int64_t> out;
  if (!has(key) || !root_.at(key).is_array()) return out;
  for (const nlohmann::json& value : root_.at(key))
    out.push_back(value.is_boolean() ? (value.get<bool>() ? 1 : 0) : to_count(key, value));
  return out;
}

std::vector<std::string> HfConfig::texts(const char* key) const {
  std::vector<std::string> out;
  if (!has(key) || !root_.at(key).is_array()) return out;
  for (const nlohmann::json& value : root_.at(key)) {
    if (!value.is_string()) fail(fmt::format("{} is not a list of texts", key));
    out.push_back(value.get<std::string>());
  }
  return out;
}

} // namespace tessella
