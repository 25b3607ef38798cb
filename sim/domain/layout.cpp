#include "sim/domain/layout.h"

#include <fmt/format.h>

#include <string_view>

namespace tessella {
namespace {

struct Symbol {
  char letter;
  int column;
};

// Writes out every repeat: "Et|(tt|)*2L" -> "Et|tt|tt|L", each symbol with the column it came from.
class Expander {
 public:
  explicit Expander(std::string_view text) : text_(text) {}

  std::vector<Symbol> run() {
    while (skip_commas()) {
      const std::size_t begin = out_.size();
      const int column = here();
      const bool group = text_[at_] == '(';
      if (group)
        read_group();
      else
        read_symbol();
      const std::optional<std::int64_t> times = read_repeat();
      if (group && !times) throw LayoutError(column, "a group needs a count, as in (tt|)*4");
      if (times) repeat(begin, *times, column);
    }
    return std::move(out_);
  }

 private:
  int here() const { return static_cast<int>(at_) + 1; }

  // Commas are cosmetic, even between digits. False at the end.
  bool skip_commas() {
    while (at_ < text_.size() && text_[at_] == ',') ++at_;
    return at_ < text_.size();
  }

  void read_group() {
    const int column = here();
    const std::size_t begin = out_.size();
    ++at_;
    for (;;) {
      if (!skip_commas()) throw LayoutError(column, "this '(' is never closed");
      if (text_[at_] == ')') break;
      if (text_[at_] == '(') throw LayoutError(here(), "groups do not nest");
      const std::size_t symbol = out_.size();
      const int symbol_column = here();
      read_symbol();
      if (const auto times = read_repeat()) repeat(symbol, *times, symbol_column);
    }
    ++at_;
    if (out_.size() == begin) throw LayoutError(column, "this group is empty");
  }

  void read_symbol() {
    const char c = text_[at_];
    if (std::string_view("EtmL|").find(c) == std::string_view::npos)
      throw LayoutError(here(), fmt::format("unexpected '{}'; a layout is made of E t m L | ( ) * and commas, as in "
                                            "Et|(tt|)*30mL",
                                            c));
    out_.push_back({c, here()});
    ++at_;
    check_length(static_cast<std::int64_t>(out_.size()), here() - 1);
  }

  std::optional<std::int64_t> read_repeat() {
    if (!skip_commas() || text_[at_] != '*') return std::nullopt;
    ++at_;
    std::optional<std::int64_t> count;
    while (skip_commas() && text_[at_] >= '0' && text_[at_] <= '9') {
      count = count.value_or(0) * 10 + (text_[at_] - '0');
      check_length(*count, here());
      ++at_;
    }
    if (!count) throw LayoutError(here(), "'*' needs a number after it");
    return count;
  }

  void repeat(std::size_t begin, std::int64_t times, int column) {
    const std::vector<Symbol> body(out_.begin() + static_cast<std::ptrdiff_t>(begin), out_.end());
    check_length(static_cast<std::int64_t>(begin) + static_cast<std::int64_t>(body.size()) * times, column);
    out_.resize(begin);
    for (std::int64_t i = 0; i < times; ++i) out_.insert(out_.end(), body.begin(), body.end());
  }

  static void check_length(std::int64_t symbols, int column) {
    if (symbols > kMaxLayoutSymbols)
      throw LayoutError(column, fmt::format("the layout grows past the limit of {} symbols", kMaxLayoutSymbols));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Symbol> out_;
};

// Fills stages symbol by symbol and keeps the order rules.
class StageBuilder {
 public:
  void add(const Symbol& s) {
    if (s.letter == '|') {
      open_stage();
      return;
    }
    if (!embedding_ && s.letter != 'E') throw LayoutError(s.column, "the first layer must be the embedding E");
    if (loss_) throw LayoutError(s.column, fmt::format("'{}' after L: the loss must come last", s.letter));
    StageContent& stage = partition_.stages.back();
    switch (s.letter) {
    case 'E':
      if (embedding_) throw LayoutError(s.column, "a second E: there is one embedding");
      embedding_ = stage.embedding = true;
      break;
    case 't':
      if (mtp_) throw LayoutError(s.column, "a decoder layer t after an MTP layer m");
      ++stage.num_layers;
      ++layers_;
      break;
    case 'm':
      mtp_ = true;
      ++stage.mtp_layers;
      break;
    default:
      loss_ = stage.loss = true;
    }
  }

  Partition finish(int end_column) {
    if (!embedding_) throw LayoutError(1, "the embedding E is missing");
    if (!loss_) throw LayoutError(end_column, "the loss L is missing");
    return std::move(partition_);
  }

 private:
  void open_stage() {
    StageContent next;
    next.first_layer = layers_;
    partition_.stages.push_back(next);
  }

  bool embedding_ = false; // seen so far
  bool loss_ = false;
  bool mtp_ = false;
  std::int32_t layers_ = 0;
  Partition partition_{{StageContent{}}};
};

} // namespace

Partition parse_layout(const std::string& layout) {
  StageBuilder builder;
  for (const Symbol& s : Expander(layout).run()) builder.add(s);
  return builder.finish(static_cast<int>(layout.size()) + 1);
}

Partition partition_of(std::span<const std::int64_t> layers_per_stage, std::int64_t mtp_layers) {
  Partition partition;
  std::int64_t first = 0;
  for (const std::int64_t layers : layers_per_stage) {
    StageContent stage;
    stage.first_layer = static_cast<std::int32_t>(first);
    stage.num_layers = static_cast<std::int32_t>(layers);
    partition.stages.push_back(stage);
    first += layers;
  }
  if (partition.stages.empty()) return partition;
  partition.stages.front().embedding = true;
  partition.stages.back().mtp_layers = static_cast<std::int32_t>(mtp_layers);
  partition.stages.back().loss = true;
  return partition;
}

std::vector<std::int64_t> balanced_split(std::int64_t num_layers, std::int64_t num_stages) {
  std::vector<std::int64_t> split(static_cast<std::size_t>(num_stages), num_layers / num_stages);
  for (std::int64_t s = 0; s < num_layers % num_stages; ++s) ++split[static_cast<std::size_t>(s)];
  return split;
}

} // namespace tessella
