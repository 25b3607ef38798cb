#include "sim/config/layer_pattern.h"

#include <fmt/format.h>

#include <array>
#include <variant>

#include "sim/base/error.h"
#include "sim/config/input_limits.h"
#include "sim/config/message.h"

namespace tessella {
namespace {

struct Letter {
  char letter;
  const char* meaning;
  bool (*fits)(const LayerKind&);
};

bool has_ffn(const LayerKind& k) {
  return !std::holds_alternative<NoFfn>(k.ffn);
}

bool has_attention(const LayerKind& k) {
  return !std::holds_alternative<NoAttention>(k.attention);
}

bool is_mamba(const LayerKind& k) {
  return std::holds_alternative<Mamba2>(k.attention);
}

constexpr std::array<Letter, 4> kLetters = {{
    {'M', "a Mamba-2 mixer", [](const LayerKind& k) { return is_mamba(k) && !has_ffn(k); }},
    {'*', "an attention", [](const LayerKind& k) { return has_attention(k) && !is_mamba(k) && !has_ffn(k); }},
    {'-', "a dense FFN",
     [](const LayerKind& k) { return !has_attention(k) && std::holds_alternative<DenseFfn>(k.ffn); }},
    {'E', "a mixture of experts", [](const LayerKind& k) { return !has_attention(k) && moe_of(k) != nullptr; }},
}};

// Of letter `i` where the text stands in the file as it is read, else of the whole value.
SourceSpan where_of(const Node& node, std::size_t i) {
  const std::size_t quotes = node.quoted ? 2 : 0;
  if (node.length != node.text.size() + quotes) return node.where();
  return node.source->span(node.offset + quotes / 2 + i, 1);
}

std::int32_t kind_of(const Letter& letter, const std::vector<LayerKind>& kinds, const SourceSpan& where) {
  std::optional<std::int32_t> found;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (!letter.fits(kinds[k])) continue;
    if (found)
      throw InputError(where, fmt::format("the letter {} fits the kinds '{}' and '{}'; write the layers as a list",
                                          letter.letter, kinds[static_cast<std::size_t>(*found)].name, kinds[k].name));
    found = static_cast<std::int32_t>(k);
  }
  if (!found)
    throw InputError(where, fmt::format("no kind is what the letter {} stands for: {} and nothing else", letter.letter,
                                        letter.meaning));
  return *found;
}

const Letter* find(char letter) {
  for (const Letter& l : kLetters)
    if (l.letter == letter) return &l;
  return nullptr;
}

} // namespace

std::optional<std::string> pattern_letter(char letter) {
  const Letter* known = find(letter);
  return known == nullptr ? std::nullopt : std::optional<std::string>(known->meaning);
}

std::string pattern_letters() {
  std::string text;
  for (const Letter& l : kLetters) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", l.letter, l.meaning);
  return text;
}

std::vector<std::int32_t> layers_of_pattern(const Node& node, const std::vector<LayerKind>& kinds) {
  if (static_cast<std::int64_t>(node.text.size()) > limit("layers"))
    throw InputError(node.where(), fmt::format("more layers than the limit of {}", limit("layers")));
  if (node.text.empty()) throw InputError(node.where(), "the pattern of layers is empty");
  std::vector<std::int32_t> layers;
  for (std::size_t i = 0; i < node.text.size(); ++i) {
    const Letter* letter = find(node.text[i]);
    if (letter == nullptr)
      throw InputError(where_of(node, i), fmt::format("unknown letter {} in a pattern of layers; it is one of {}",
                                                      in_quotes(std::string(1, node.text[i])), pattern_letters()));
    if (!kinds.empty()) layers.push_back(kind_of(*letter, kinds, where_of(node, i)));
  }
  return layers;
}

} // namespace tessella
