#include "sim/config/nccl_log.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "sim/base/error.h"
#include "sim/config/quantity.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<std::int64_t> to_size(const std::string& word) {
  std::int64_t size = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, size);
  if (error != std::errc() || at != end || size <= 0) return std::nullopt;
  return size;
}

} // namespace

std::vector<NcclRow> load_nccl_log_text(const std::string& file_name, const std::string& text) {
  std::vector<NcclRow> rows;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    const auto size = words.empty() ? std::nullopt : to_size(words[0]);
    if (!size) continue;
    constexpr std::size_t kType = 2;
    const bool has_redop = words.size() > kType + 1 && !to_number(words[kType + 1]);
    const std::size_t at = kType + (has_redop ? 3 : 1);
    const auto us = at < words.size() ? to_number(words[at]) : std::nullopt;
    if (!us || *us <= 0.0)
      throw InputError(SourceSpan{file_name, number, 1, 0, {}},
                       fmt::format("column {} of an nccl-tests row is its time in us, not '{}'", at + 1,
                                   at < words.size() ? words[at] : ""));
    rows.push_back({Bytes{*size}, *us * 1e-6});
  }
  if (rows.empty()) throw InputError(SourceSpan{file_name, 0, 0, 0, {}}, "holds no row of nccl-tests");
  return rows;
}

std::vector<NcclRow> load_nccl_log(const std::filesystem::path& file) {
  return load_nccl_log_text(display_path(file), read_file(file));
}

} // namespace tessella
