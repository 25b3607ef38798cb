// Reading values out of a tree, strictly: every key of a map is either asked for or an error, every scalar is parsed by
// our own rules, and all mistakes of a file are reported in one go.
//
//   MapReader map(node, problems);
//   map.required("hidden_size", model.hidden_size, Count("hidden_size"));
//   map.optional("tie_embeddings", model.tie_embeddings, read_bool);
//   map.done();                      // unknown and missing keys
//   ...
//   problems.throw_if_any();
//
// A reader is anything that turns a const Node& into a value or throws InputError.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/config/input_limits.h"
#include "sim/config/node.h"

namespace tessella {

// What is wrong with an input so far. A broken file can have a problem in each of its values: after the first hundred
// it is full, and readers stop early.
class Problems {
 public:
  void add(const InputError& error);
  bool empty() const { return errors_.empty(); }
  bool full() const { return errors_.size() >= kKept; }
  // One InputError: the first problem as its message, the others as notes (at most 20 problems).
  void throw_if_any() const;

 private:
  static constexpr std::size_t kKept = 100;
  static constexpr std::size_t kShown = 20;
  std::vector<InputError> errors_;
};

// Another accepted spelling of a key.
struct Alias {
  std::string_view spelling;
  std::string_view key;
};

// The entry of a key under any spelling; one from the command line wins over one from the file. nullptr when absent.
const Entry* find_spelling(const Node& map, std::string_view key, std::span<const Alias> aliases);

class MapReader {
 public:
  // Throws when the node is not a map. `name` is what a message calls it, e.g. "the model"; the aliases must outlive
  // the reader.
  MapReader(const Node& map, Problems& problems, std::string_view name, std::span<const Alias> aliases = {});

  template <class T, class Reader>
  void required(std::string_view key, T& out, const Reader& reader) {
    const Node* node = find(key);
    if (node)
      read(*node, out, reader);
    else
      missing_.emplace_back(key);
  }
  // An absent key, or null, leaves `out` as it is.
  template <class T, class Reader>
  void optional(std::string_view key, T& out, const Reader& reader) {
    if (const Node* node = find(key)) read(*node, out, reader);
  }
  // A key that is known but has no meaning here: an error with the reason when it is given.
  void refuse(std::string_view key, std::string_view reason);
  // The value of a key under any of its spellings; nullptr when absent or null.
  const Node* find(std::string_view key);
  // Adds a problem with a key that was read; it points at the value, or at the map when the key is absent.
  void problem(std::string_view key, const std::string& message);
  // Reports unknown and missing keys. Call it once, last.
  void done();

 private:
  template <class T, class Reader>
  void read(const Node& node, T& out, const Reader& reader) {
    try {
      out = reader(node);
    } catch (const InputError& error) {
      problems_.add(error);
    }
  }
  const Entry* entry(std::string_view key);
  void check_spellings();
  std::optional<std::string> meant_by(const std::string& unknown) const;

  const Node& map_;
  Problems& problems_;
  std::string name_;
  std::span<const Alias> aliases_;
  std::vector<std::string> known_; // keys and spellings asked for
  std::vector<std::string> missing_;
};

// --- readers of scalars ---

// A whole number in [min, limit(key)], written in decimal digits. The key is a row of input_limits.h.
struct Count {
  std::string_view key;
  std::int64_t min;
  std::int64_t max;
  consteval explicit Count(std::string_view k, std::int64_t least = 1) : key(k), min(least), max(limit(k)) {}
  std::int64_t operator()(const Node& node) const;
};

// A number without unit in [min, max].
struct Number {
  std::string_view key;
  double min = 0.0;
  double max = 0.0;
  double operator()(const Node& node) const;
};

bool read_bool(const Node& node);        // true or false, nothing else
std::string read_text(const Node& node); // a scalar that is not empty
std::string read_name(const Node& node); // letters, digits and _ - . / only

Bytes read_bytes(const Node& node);         // above 0
Bandwidth read_bandwidth(const Node& node); // above 0
FlopRate read_flop_rate(const Node& node);  // above 0
Duration read_duration(const Node& node);   // 0 or more
double read_fraction(const Node& node);     // 0 to 1, "2 %" or 0.02

template <class E>
using Choice = std::pair<std::string_view, E>;

// The position of a word in `words`; an InputError that lists them otherwise.
std::size_t read_word(const Node& node, std::string_view what, std::span<const std::string> words);

// One of the words of a table.
template <class E>
E read_choice(const Node& node, std::string_view what, std::span<const Choice<E>> table) {
  std::vector<std::string> words;
  for (const auto& [word, value] : table) words.emplace_back(word);
  return table[read_word(node, what, words)].second;
}

// Every item of a list through `reader`; problems of an item do not hide those of the next. Throws when it is not a
// list.
void require_list(const Node& node);
template <class T, class Reader>
std::vector<T> read_list(const Node& node, Problems& problems, const Reader& reader) {
  require_list(node);
  std::vector<T> out;
  for (const Node& item : node.items) {
    if (problems.full()) break;
    try {
      out.push_back(reader(item));
    } catch (const InputError& error) {
      problems.add(error);
    }
  }
  return out;
}

} // namespace tessella
