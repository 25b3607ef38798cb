#include "sim/domain/plan.h"

#include <fmt/format.h>

namespace tessella {
namespace {

// "t", "tt", "ttt", then "t*4".
std::string repeated(char symbol, std::int32_t count) {
  if (count <= 3) return std::string(static_cast<std::size_t>(count), symbol);
  return fmt::format("{}*{}", symbol, count);
}

std::string stage_text(const StageContent& stage) {
  std::string text = stage.embedding ? "E" : "";
  text += repeated('t', stage.num_layers);
  text += repeated('m', stage.mtp_layers);
  return stage.loss ? text + "L" : text;
}

} // namespace

std::string to_layout(const Partition& partition) {
  std::string text;
  const std::size_t n = partition.stages.size();
  for (std::size_t begin = 0; begin < n;) {
    const std::string stage = stage_text(partition.stages[begin]);
    std::size_t end = begin + 1;
    while (end < n && stage_text(partition.stages[end]) == stage) ++end;
    // The last stage has no break after it, so it stays outside the fold.
    const std::size_t folded = (end == n ? n - 1 : end) - begin;
    std::string plain;
    for (std::size_t i = 0; i < folded; ++i) plain += stage + "|";
    const std::string group = fmt::format("({}|)*{}", stage, folded);
    text += folded > 1 && group.size() < plain.size() ? group : plain;
    if (end == n) text += stage;
    begin = end;
  }
  return text;
}

} // namespace tessella
