// A routing trace (CSV) -> RoutingTrace.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "sim/config/load.h"
#include "sim/config/message.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

constexpr std::string_view kHeader = "iter,layer,rank,tokens";

// The lines of a text, without their ends, one after another.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next() {
    if (end_ >= text_.size()) return false;
    begin_ = end_;
    const std::size_t newline = std::min(text_.find('\n', begin_), text_.size());
    end_ = newline + 1;
    line_ = text_.substr(begin_, newline - begin_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    return true;
  }
  std::string_view line() const { return line_; }
  std::size_t offset() const { return begin_; }

 private:
  std::string_view text_;
  std::string_view line_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

TraceRow read_row(const Source& source, const Lines& lines) {
  std::array<std::int64_t, 4> values{};
  const char* at = lines.line().data();
  const char* const end = at + lines.line().size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, values[i]);
    const bool last = i + 1 == values.size();
    if (error != std::errc() || (last ? rest != end : rest == end || *rest != ','))
      throw InputError(source.span(lines.offset(), lines.line().size()),
                       fmt::format("expected four whole numbers '{}', found {}", kHeader, in_quotes(lines.line())));
    at = last ? rest : rest + 1;
  }
  return {values[0], values[1], values[2], values[3]};
}

} // namespace

RoutingTrace load_trace_text(const std::string& file_name, const std::string& text) {
  const Source source = Source::file(file_name, text);
  Lines lines(source.text());
  if (!lines.next() || lines.line() != kHeader)
    throw InputError(source.span(0, lines.line().size()),
                     fmt::format("the first line of a trace is '{}', found {}", kHeader, in_quotes(lines.line())));
  std::vector<TraceRow> rows;
  std::vector<std::size_t> offsets;
  while (lines.next()) {
    if (lines.line().empty()) continue;
    rows.push_back(read_row(source, lines));
    offsets.push_back(lines.offset());
  }
  auto trace = make_trace(rows);
  if (const auto* problem = std::get_if<TraceProblem>(&trace)) {
    if (rows.empty()) throw InputError(file_name, problem->message);
    throw InputError(source.span(offsets[problem->row], 1), problem->message);
  }
  return std::get<RoutingTrace>(std::move(trace));
}

} // namespace tessella
