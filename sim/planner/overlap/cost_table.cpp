#include "sim/planner/overlap/cost_table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "sim/base/atomic_file.h"
#include "sim/base/check.h"
#include "sim/base/sha256.h"
#include "sim/engine/parallel.h"

namespace tessella {
namespace {

constexpr std::string_view kFormat = "# tessella pair costs 1\n";
constexpr std::string_view kColumns =
    "passes,first,second,post_overlap_ps,serial_ps,lower_bound_ps,ep_busy_ps,ep_hidden_ps\n";

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

std::string row(const std::string& key, const PairCost& c) {
  return fmt::format("{},{},{},{},{},{}\n", key, c.post_overlap.ps, c.serial.ps, c.lower_bound.ps, c.ep_busy.ps,
                     c.ep_hidden.ps);
}

// A row without its line end: three words of key, then five numbers; nothing when it is anything else.
std::optional<std::pair<std::string, PairCost>> parse_row(std::string_view line) {
  std::array<Duration, 5> numbers;
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const std::size_t comma = line.rfind(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const std::string_view word = line.substr(comma + 1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), numbers[i].ps);
    if (error != std::errc() || end != word.data() + word.size() || numbers[i].ps < 0) return std::nullopt;
    line = line.substr(0, comma);
  }
  const PairCost cost{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
  if (cost.lower_bound > cost.post_overlap || cost.ep_hidden > cost.ep_busy) return std::nullopt;
  return std::pair(std::string(line), cost);
}

} // namespace

PairCostTable::PairCostTable(const ChunkLibrary& chunks, OverlapMethod method, const SearchLimits& limits,
                             const AlignRule& align)
    : chunks_(chunks), method_(method), limits_(limits), align_(align) {
  TSL_CHECK(!limits.seconds); // a table is the same wherever it is computed
  std::string budget = method == OverlapMethod::exact ? fmt::format("{} nodes", limits.nodes) : "";
  if (align != AlignRule{}) budget += fmt::format(" defer above {}", align.defer_above);
  inputs_ = sha256_hex(fmt::format("{}{} {}\n{}", kFormat, name(method), budget, chunks.text()));
}

PairCost PairCostTable::compute(const ChunkPair& pair) const {
  const PairProblem problem = chunks_.problem(pair.first, pair.second, pair.passes);
  const PairResult r = schedule_pair(problem, method_, limits_, align_);
  return {r.post_overlap, r.serial, r.lower_bound, r.ep_busy, r.ep_hidden};
}

void PairCostTable::fill(std::span<const ChunkPair> pairs, unsigned threads) {
  std::set<ChunkPair> distinct;
  for (const ChunkPair& pair : pairs)
    if (!costs_.contains(pair)) distinct.insert(pair);
  std::vector<ChunkPair> missing;
  for (const ChunkPair& pair : distinct) {
    const auto known = adopted_.find(key(pair));
    if (known == adopted_.end())
      missing.push_back(pair);
    else
      costs_.emplace(pair, known->second);
  }
  std::vector<PairCost> costs(missing.size());
  parallel_for(missing.size(), threads, [&](std::size_t i) { costs[i] = compute(missing[i]); });
  for (std::size_t i = 0; i < missing.size(); ++i) costs_.emplace(std::move(missing[i]), costs[i]);
  computed_ += costs.size();
}

const PairCost& PairCostTable::at(const ChunkPair& pair) {
  const auto known = costs_.find(pair);
  if (known != costs_.end()) return known->second;
  fill({&pair, 1}, 1);
  return costs_.at(pair);
}

std::string PairCostTable::key(const ChunkPair& pair) const {
  return fmt::format("{}{},{},{}", letter(pair.passes[0]), letter(pair.passes[1]), to_text(pair.first, chunks_.model()),
                     to_text(pair.second, chunks_.model()));
}

std::string PairCostTable::header() const {
  return fmt::format("{}# inputs {}\n# method {}\n# topology {}\n{}", kFormat, inputs_, name(method_),
                     chunks_.topology_class(), kColumns);
}

std::string PairCostTable::text() const {
  std::map<std::string, PairCost> rows = adopted_;
  for (const auto& [pair, cost] : costs_) rows[key(pair)] = cost;
  std::string text = header();
  for (const auto& [key, cost] : rows) text += row(key, cost);
  return text;
}

std::size_t PairCostTable::adopt(std::string_view text) {
  if (!take(text, header())) return 0;
  std::map<std::string, PairCost> rows;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return 0; // cut off
    const auto parsed = parse_row(text.substr(0, end));
    if (!parsed || !rows.insert(*parsed).second) return 0;
    text.remove_prefix(end + 1);
  }
  adopted_.insert(rows.begin(), rows.end());
  return rows.size();
}

std::size_t PairCostTable::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return 0;
  return adopt(std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

void PairCostTable::save(const std::string& path) const {
  write_file(path, text());
}

} // namespace tessella
