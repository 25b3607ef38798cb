#include "sim/config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "sim/config/input_limits.h"
#include "sim/config/message.h"
#include "sim/config/quantity.h"

namespace tessella {
namespace {

const std::string& plain_scalar(const Node& node, std::string_view wanted) {
  if (node.kind != NodeKind::scalar)
    throw InputError(node.where(), fmt::format("expected {}, found {}", wanted, describe(node)));
  if (node.quoted)
    throw InputError(node.where(),
                     fmt::format("expected {}, found the text {}; remove the quotes", wanted, in_quotes(node.text)));
  return node.text;
}

// A quantity may stand in quotes: its unit makes it text anyway.
const std::string& scalar_text(const Node& node, std::string_view wanted) {
  if (node.kind != NodeKind::scalar)
    throw InputError(node.where(), fmt::format("expected {}, found {}", wanted, describe(node)));
  return node.text;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void above_limit(const Node& node, const Count& count) {
  throw InputError(node.where(), fmt::format("{} is {}, above the limit of {}", count.key, node.text, count.max));
}

// "4096.0", "1e3", "0x10", "010", "1e12": names what was probably meant, or that it is far too large anyway.
[[noreturn]] void not_an_integer(const Node& node, const Count& count) {
  std::string hint;
  if (const auto value = to_number(node.text)) {
    if (*value > static_cast<double>(count.max)) above_limit(node, count);
    if (*value == std::floor(*value) && *value >= 0.0)
      hint = fmt::format("; did you mean {}?", static_cast<std::int64_t>(*value));
  }
  throw InputError(node.where(), fmt::format("{} must be a whole number in decimal digits, found {}{}", count.key,
                                             in_quotes(node.text), hint));
}

std::string key_of(std::string_view spelling, std::span<const Alias> aliases) {
  for (const Alias& alias : aliases)
    if (alias.spelling == spelling) return std::string(alias.key);
  return std::string(spelling);
}

void report_all(std::vector<Note>& notes, std::span<const InputError> errors) {
  for (const InputError& error : errors) {
    notes.push_back({error.where(), error.message()});
    notes.insert(notes.end(), error.notes().begin(), error.notes().end());
  }
}

} // namespace

void Problems::add(const InputError& error) {
  if (!full()) errors_.push_back(error);
}

void Problems::throw_if_any() const {
  if (errors_.empty()) return;
  const std::size_t shown = std::min(errors_.size(), kShown);
  std::vector<Note> notes = errors_[0].notes();
  report_all(notes, std::span(errors_).subspan(1, shown - 1));
  if (shown < errors_.size())
    notes.push_back({std::nullopt, fmt::format("and {}{} more", full() ? "at least " : "", errors_.size() - shown)});
  throw InputError(errors_[0].where(), errors_[0].message(), notes);
}

MapReader::MapReader(const Node& map, Problems& problems, std::string_view name, std::span<const Alias> aliases)
    : map_(map), problems_(problems), name_(name), aliases_(aliases) {
  if (map.kind != NodeKind::map)
    throw InputError(map.where(), fmt::format("{} must be a map of keys, found {}", name, describe(map)));
}

const Entry* find_spelling(const Node& map, std::string_view key, std::span<const Alias> aliases) {
  const Entry* found = map.find(key);
  for (const Alias& alias : aliases) {
    const Entry* other = alias.key == key ? map.find(alias.spelling) : nullptr;
    if (other && (!found || other->key.source->is_flag())) found = other;
  }
  return found;
}

const Entry* MapReader::entry(std::string_view key) {
  const Entry* found = find_spelling(map_, key, aliases_);
  known_.emplace_back(key);
  for (const Alias& alias : aliases_)
    if (alias.key == key) known_.emplace_back(alias.spelling);
  return found;
}

// Two spellings of one key in the same place.
void MapReader::check_spellings() {
  std::map<std::string, const Entry*> first;
  for (const Entry& e : map_.entries) {
    const auto [it, fresh] = first.emplace(key_of(e.key.text, aliases_), &e);
    if (fresh) continue;
    const Entry& other = *it->second;
    if (e.key.source->is_flag() == other.key.source->is_flag())
      problems_.add(InputError(e.key.where(), fmt::format("'{}' and '{}' are the same key", e.key.text, other.key.text),
                               {{other.key.where(), "first given here"}}));
  }
}

const Node* MapReader::find(std::string_view key) {
  const Entry* found = entry(key);
  return found && found->value.kind != NodeKind::null ? &found->value : nullptr;
}

void MapReader::refuse(std::string_view key, std::string_view reason) {
  const Entry* found = entry(key);
  if (found && found->value.kind != NodeKind::null)
    problems_.add(InputError(found->key.where(), fmt::format("'{}' has no meaning here: {}", found->key.text, reason)));
}

void MapReader::problem(std::string_view key, const std::string& message) {
  const Node* node = find(key);
  problems_.add(InputError(node ? node->where() : map_.where(), message));
}

// The known key that an unknown one resembles most: a key, or a short form such as "tp". A long foreign spelling
// stands for the key itself.
std::optional<std::string> MapReader::meant_by(const std::string& unknown) const {
  const auto found = nearest_word(unknown, known_);
  return found && found->size() > 3 ? key_of(*found, aliases_) : found;
}

void MapReader::done() {
  check_spellings();
  std::vector<std::string> misspelt;
  for (const Entry& e : map_.entries) {
    if (problems_.full()) return;
    if (std::find(known_.begin(), known_.end(), e.key.text) != known_.end()) continue;
    std::string hint;
    if (const auto meant = meant_by(e.key.text)) {
      misspelt.push_back(key_of(*meant, aliases_));
      hint = fmt::format("; did you mean '{}'?", *meant);
    }
    problems_.add(InputError(e.key.where(), fmt::format("unknown key {} in {}{}", in_quotes(e.key.text), name_, hint)));
  }
  // A key that is only misspelt is not missing as well.
  for (const std::string& key : missing_)
    if (std::find(misspelt.begin(), misspelt.end(), key) == misspelt.end())
      problems_.add(InputError(map_.where(), fmt::format("missing key '{}' in {}", key, name_)));
}

std::int64_t Count::operator()(const Node& node) const {
  const std::string& text = plain_scalar(node, fmt::format("a whole number for {}", key));
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (!all_digits(digits) || (digits.size() > 1 && digits[0] == '0')) not_an_integer(node, *this);
  std::int64_t value = 0;
  const bool overflow = std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc();
  if (text[0] != '-' && (overflow || value > max)) above_limit(node, *this);
  if (text[0] == '-' || value < min)
    throw InputError(node.where(), fmt::format("{} is {}; it must be at least {}", key, text, min));
  return value;
}

double Number::operator()(const Node& node) const {
  const std::string& text = plain_scalar(node, fmt::format("a number for {}", key));
  const auto value = to_number(text);
  if (!value) throw InputError(node.where(), fmt::format("{} must be a finite number, found {}", key, in_quotes(text)));
  if (*value < min || *value > max)
    throw InputError(node.where(), fmt::format("{} is {}, outside its limits of {} and {}", key, text, min, max));
  return *value;
}

bool read_bool(const Node& node) {
  const std::string& text = plain_scalar(node, "true or false");
  if (text == "true") return true;
  if (text == "false") return false;
  throw InputError(node.where(), fmt::format("expected true or false, found {}", in_quotes(text)));
}

std::string read_text(const Node& node) {
  const std::string& text = scalar_text(node, "text");
  if (text.empty()) throw InputError(node.where(), "the text is empty");
  if (text.size() > static_cast<std::size_t>(limit("max_text")))
    throw InputError(node.where(),
                     fmt::format("the text has {} characters; the limit is {}", text.size(), limit("max_text")));
  return text;
}

std::string read_name(const Node& node) {
  std::string text = read_text(node);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/';
  };
  if (!std::all_of(text.begin(), text.end(), allowed) || text[0] == '-' || text[0] == '.')
    throw InputError(node.where(), fmt::format("a name has letters, digits and _ - . / only and begins with a letter "
                                               "or digit, found {}",
                                               in_quotes(text)));
  if (is_null_text(text)) throw InputError(node.where(), fmt::format("{} cannot be a name", in_quotes(text)));
  return text;
}

Bytes read_bytes(const Node& node) {
  return parse_bytes(scalar_text(node, "a size such as '80 GiB'"), node.where());
}

Bandwidth read_bandwidth(const Node& node) {
  return parse_bandwidth(scalar_text(node, "a bandwidth such as '450 GB/s'"), node.where());
}

FlopRate read_flop_rate(const Node& node) {
  return parse_flop_rate(scalar_text(node, "a flop rate such as '989 TFLOPS'"), node.where());
}

Duration read_duration(const Node& node) {
  return parse_duration(scalar_text(node, "a time such as '1.5 us'"), node.where());
}

double read_fraction(const Node& node) {
  const std::string& text = scalar_text(node, "a fraction such as '2 %'");
  const double value = parse_quantity(text, Dimension::plain, node.where());
  if (value > 1.0) throw InputError(node.where(), fmt::format("{} is above 1; write '2 %' or 0.02", in_quotes(text)));
  return value;
}

std::size_t read_word(const Node& node, std::string_view what, std::span<const std::string> words) {
  const std::string& text = scalar_text(node, what);
  const auto it = std::find(words.begin(), words.end(), text);
  if (it != words.end()) return static_cast<std::size_t>(it - words.begin());
  const auto meant = nearest_word(text, words);
  const std::string hint =
      meant ? fmt::format("; did you mean '{}'?", *meant) : fmt::format("; it is one of {}", comma_list(words));
  throw InputError(node.where(), fmt::format("unknown {} {}{}", what, in_quotes(text), hint));
}

void require_list(const Node& node) {
  if (node.kind != NodeKind::list)
    throw InputError(node.where(), fmt::format("expected a list, found {}", describe(node)));
}

} // namespace tessella
