#include "sim/schedule/torch_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/schedule/grid_source.h"
#include "sim/schedule/torch_grid_check.h"

namespace tessella {
namespace {

constexpr std::pair<std::string_view, CommKind> kCommNames[] = {
    {"SEND_F", CommKind::SEND_F},           {"RECV_F", CommKind::RECV_F},   {"SEND_B", CommKind::SEND_B},
    {"RECV_B", CommKind::RECV_B},           {"UNSHARD", CommKind::UNSHARD}, {"RESHARD", CommKind::RESHARD},
    {"REDUCE_GRAD", CommKind::REDUCE_GRAD},
};

std::optional<std::int32_t> number(std::string_view digits) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-') return std::nullopt;
  return value;
}

// <stage><name><micro-batch or nothing>
struct Parts {
  std::string_view stage, name, micro_batch;
};

Parts split(std::string_view cell) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t name = std::min(cell.find_first_not_of(digits), cell.size());
  const std::size_t end = cell.find_last_not_of(digits) + 1;
  if (name >= end) return {cell, {}, {}};
  return {cell.substr(0, name), cell.substr(name, end - name), cell.substr(end)};
}

std::optional<CommAction> parse_comm(std::string_view cell) {
  const Parts parts = split(cell);
  const auto* row = std::find_if(std::begin(kCommNames), std::end(kCommNames),
                                 [&](const auto& known) { return known.first == parts.name; });
  if (row == std::end(kCommNames) || parts.stage.empty()) return std::nullopt;
  const auto stage = number(parts.stage);
  if (!stage) return std::nullopt;
  const bool per_micro_batch = row->second <= CommKind::RECV_B;
  if (parts.micro_batch.empty() == per_micro_batch) return std::nullopt;
  if (!per_micro_batch) return CommAction{Stage{*stage}, row->second, std::nullopt};
  const auto micro_batch = number(parts.micro_batch);
  if (!micro_batch) return std::nullopt;
  return CommAction{Stage{*stage}, row->second, MicroBatch{*micro_batch}};
}

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  return cell;
}

InputError unknown_cell(const GridSource& source, const CellText& where, std::string_view cell) {
  std::string message =
      fmt::format("'{}' is no action of a torch schedule: expected <stage><letter><micro-batch>", cell);
  const Parts parts = split(cell);
  if (!parts.name.empty() && !parts.stage.empty() && cell.front() != '(')
    message = fmt::format("unknown action '{}' in '{}'", parts.name, cell);
  return InputError(
      source.span(where), message,
      {{std::nullopt, "known: F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD and "
                      "(<action>;<action>)OVERLAP_F_B"}});
}

// Reads one file; knows which letters it uses only after the last cell.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) { source_ = {file, split_lines(text), {}, {}}; }

  PositionedGrid read() {
    for (std::size_t i = 0; i < source_.lines.size(); ++i) read_row(source_.lines[i], static_cast<int>(i) + 1);
    if (grid_.rows.empty()) throw InputError(source_.whole_file(), "no schedule here");
    if (first_old_ || (!first_i_ && num_w_ > 0 && num_w_ == num_b_)) translate_old_letters();
    return {std::move(grid_), std::move(source_)};
  }

 private:
  void read_row(const std::string& line, int number) {
    grid_.rows.emplace_back();
    source_.cells.emplace_back();
    source_.row_line.push_back(number);
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      const std::string_view cell = trimmed(std::string_view(line).substr(at, end - at));
      const CellText where{number, static_cast<int>(at) + 1, static_cast<int>(end - at)};
      source_.cells.back().push_back(where);
      grid_.rows.back().push_back(read_cell(cell, where));
      at = end + 1;
    }
  }

  TorchCell read_cell(std::string_view cell, const CellText& where) {
    if (cell.empty()) return std::monostate{};
    if (const auto slot = parse_slot(cell)) {
      if (slot->first.kind == ActionKind::I && !first_i_) first_i_ = where;
      if (slot->first.kind == ActionKind::W) ++num_w_;
      if (slot->first.kind == ActionKind::B) ++num_b_;
      return *slot;
    }
    if (const auto comm = parse_comm(cell)) return *comm;
    const Parts parts = split(cell);
    const auto full =
        parts.name == "BW" ? parse_slot(fmt::format("{}B{}", parts.stage, parts.micro_batch)) : std::nullopt;
    if (!full) throw unknown_cell(source_, where, cell);
    if (!first_old_) first_old_ = where;
    old_full_.emplace_back(grid_.rows.size() - 1, grid_.rows.back().size());
    return *full;
  }

  void translate_old_letters() {
    if (first_i_)
      throw InputError(source_.span(*first_old_),
                       "BW is a letter of old files and I one of today's: not both in one file",
                       {{source_.span(*first_i_), "I stands here"}});
    auto next_full = old_full_.begin();
    for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
      for (std::size_t i = 0; i < grid_.rows[r].size(); ++i) {
        if (next_full != old_full_.end() && *next_full == std::pair(r, i)) {
          ++next_full;
          continue;
        }
        auto* slot = std::get_if<Slot>(&grid_.rows[r][i]);
        if (slot == nullptr) continue;
        if (slot->first.kind == ActionKind::B) slot->first.kind = ActionKind::I;
        if (slot->second && slot->second->kind == ActionKind::B) slot->second->kind = ActionKind::I;
      }
    }
    grid_.notes.push_back(
        "old letters: B is read as the input gradient (today I) and BW as the full backward (today B)");
  }

  GridSource source_;
  TorchGrid grid_;
  std::optional<CellText> first_old_; // BW
  std::optional<CellText> first_i_;
  int num_w_ = 0; // as many W as B and no I: these B are input gradients
  int num_b_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> old_full_; // (row, cell) of each BW
};

struct CellWriter {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const Slot& slot) const { return to_text(slot) + (slot.second ? "OVERLAP_F_B" : ""); }
  std::string operator()(const CommAction& comm) const { return to_text(comm); }
};

} // namespace

std::string to_text(const CommAction& comm) {
  const auto* row = std::find_if(std::begin(kCommNames), std::end(kCommNames),
                                 [&](const auto& known) { return known.second == comm.kind; });
  std::string text = fmt::format("{}{}", comm.stage.value, row->first);
  if (comm.micro_batch) text += std::to_string(comm.micro_batch->value);
  return text;
}

TorchGrid parse_torch_csv(std::string_view text, const std::string& file) {
  return Reader(text, file).read().grid;
}

std::string to_csv(const TorchGrid& grid) {
  std::string text;
  for (const auto& row : grid.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += std::visit(CellWriter{}, row[i]);
    }
    text += '\n';
  }
  return text;
}

ImportedSchedule import_torch_csv(std::string_view text, const std::string& file, const std::string& name) {
  PositionedGrid positioned = Reader(text, file).read();
  Schedule schedule = check_torch_grid(positioned, name);
  return {std::move(schedule), std::move(positioned.grid.notes)};
}

} // namespace tessella
