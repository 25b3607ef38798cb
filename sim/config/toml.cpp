#include "sim/config/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "sim/config/message.h"

namespace tessella {
namespace {

class TomlReader {
 public:
  TomlReader(const std::string& file, const std::string& text) : file_(file), text_(text) {}

  std::vector<TomlEntry> run() {
    for (std::size_t begin = 0; begin < text_.size(); ++line_number_) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      line_ = text_.substr(begin, end - begin);
      if (!line_.empty() && line_.back() == '\r') line_.pop_back();
      at_ = 0;
      read_line();
      begin = end + 1;
    }
    return std::move(entries_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const { throw InputError(span(at, 1), message); }
  SourceSpan span(std::size_t at, std::size_t length) const {
    return {file_, line_number_, static_cast<int>(at) + 1, static_cast<int>(length), line_};
  }
  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  void expect_end() {
    skip_blanks();
    if (at_ < line_.size() && peek() != '#') fail(at_, "expected the end of the line");
  }

  std::string word() {
    skip_blanks();
    const std::size_t begin = at_;
    if (peek() == '"' || peek() == '\'') return quoted();
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_' || peek() == '-') ++at_;
    if (at_ == begin) fail(begin, "expected a key");
    return line_.substr(begin, at_ - begin);
  }

  std::string dotted() {
    std::string path = word();
    for (skip_blanks(); peek() == '.'; skip_blanks()) {
      ++at_;
      path += '.';
      path += word();
    }
    return path;
  }

  std::string quoted() {
    const char quote = line_[at_];
    const std::size_t begin = at_++;
    if (line_.compare(begin, 3, std::string(3, quote)) == 0) fail(begin, "texts of several lines are not read");
    std::string out;
    while (peek() != quote) {
      if (at_ >= line_.size()) fail(begin, "the text has no closing quote");
      if (peek() == '\\' && quote == '"') {
        ++at_;
        if (peek() != '"' && peek() != '\\') fail(at_, "of escapes only \\\" and \\\\ are read");
      }
      out += line_[at_++];
    }
    ++at_;
    return out;
  }

  // A number without its underscores, or true or false.
  std::string bare() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && std::string_view(" \t,]#").find(peek()) == std::string_view::npos) ++at_;
    std::string out = line_.substr(begin, at_ - begin);
    std::erase(out, '_');
    const bool number = !out.empty() && out.find_first_not_of("+-.eE0123456789") == std::string::npos;
    if (!number && out != "true" && out != "false")
      throw InputError(span(begin, std::max<std::size_t>(1, at_ - begin)),
                       fmt::format("{} is neither a number, true, false, nor a text in quotes", in_quotes(out)));
    return out;
  }

  std::string scalar(bool& is_text) {
    skip_blanks();
    is_text = peek() == '"' || peek() == '\'';
    if (peek() == '{') fail(at_, "inline tables are not read; write a [table]");
    return is_text ? quoted() : bare();
  }

  void read_list(TomlEntry& entry) {
    const std::size_t begin = at_++;
    bool is_text = false;
    for (skip_blanks(); peek() != ']'; skip_blanks()) {
      if (at_ >= line_.size() || peek() == '#') fail(begin, "the list does not end on its line");
      entry.items.push_back(scalar(is_text));
      skip_blanks();
      if (peek() == ',')
        ++at_;
      else if (peek() != ']' && peek() != '\0')
        fail(at_, "expected , or ]");
    }
    ++at_;
    entry.text = line_.substr(begin, at_ - begin);
  }

  void read_line() {
    skip_blanks();
    if (at_ == line_.size() || peek() == '#') return;
    if (peek() == '[') {
      if (line_.compare(at_, 2, "[[") == 0) fail(at_, "arrays of tables are not read");
      ++at_;
      table_ = dotted();
      table_ += '.';
      if (peek() != ']') fail(at_, "expected ]");
      ++at_;
      return expect_end();
    }
    const std::size_t key_at = at_;
    TomlEntry entry;
    entry.path = table_ + dotted();
    if (!seen_.insert(entry.path).second) fail(key_at, fmt::format("{} is given twice", in_quotes(entry.path)));
    if (peek() != '=') fail(at_, "expected = and a value");
    ++at_;
    skip_blanks();
    const std::size_t value_at = at_;
    if (peek() == '[')
      read_list(entry);
    else
      entry.text = scalar(entry.is_text);
    entry.where = span(value_at, std::max<std::size_t>(1, at_ - value_at));
    expect_end();
    entries_.push_back(std::move(entry));
  }

  const std::string& file_;
  const std::string& text_;
  std::string line_;
  int line_number_ = 1;
  std::size_t at_ = 0;
  std::string table_;
  std::set<std::string> seen_;
  std::vector<TomlEntry> entries_;
};

} // namespace

std::vector<TomlEntry> parse_toml(const std::string& file_name, const std::string& text) {
  return TomlReader(file_name, text).run();
}

} // namespace tessella
