#include "sim/config/node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/config/input_limits.h"
#include "sim/config/message.h"

namespace tessella {
namespace {

// One past the quote that closes the one at `offset`; nothing when there is none. yaml-cpp accepts a quote that is
// still open at the end of the file.
std::optional<std::size_t> end_of_quotes(const std::string& text, std::size_t offset) {
  const char quote = text[offset];
  for (std::size_t i = offset + 1; i < text.size(); ++i) {
    const bool escape =
        quote == '"' ? text[i] == '\\' : text[i] == quote && i + 1 < text.size() && text[i + 1] == quote;
    if (escape)
      ++i;
    else if (text[i] == quote)
      return i + 1;
  }
  return std::nullopt;
}

void check_unique_keys(const Node& map) {
  std::vector<std::size_t> order(map.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return map.entries[a].key.text < map.entries[b].key.text; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Node& first = map.entries[order[i - 1]].key;
    const Node& second = map.entries[order[i]].key;
    if (first.text == second.text)
      throw InputError(second.where(), fmt::format("duplicate key {}", in_quotes(second.text)),
                       {{first.where(), "first given here"}});
  }
}

// Builds the tree from yaml-cpp's events; `open_` holds the containers that are not closed yet.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  Node take() { return std::move(root_); }
  // Where the innermost bracket that is still open stands.
  std::optional<std::size_t> innermost_open() const {
    if (open_.empty()) return std::nullopt;
    return open_.back().start;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 1) fail(mark, "a second document; a file holds one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Node node = make(mark, NodeKind::empty);
    const std::size_t end = source_->text().find_first_of(" \t\r\n,:]}#", node.offset);
    const std::string_view word = std::string_view(source_->text()).substr(node.offset, end - node.offset);
    if (is_null_text(word)) {
      node.kind = NodeKind::null;
      node.length = word.size();
    }
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(at(mark)); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    fail(mark, "anchors (&name) are not supported; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    check_tag(mark, tag);
    Node node = make(mark, NodeKind::scalar);
    node.quoted = tag == "!"; // yaml-cpp's word for "not plain"
    node.text = value;
    node.length = written_length(node);
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(make(mark, NodeKind::list));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(make(mark, NodeKind::map));
  }
  void OnMapEnd() override { close(); }

  [[noreturn]] void refuse_alias(std::size_t offset) const {
    throw InputError(source_->span(offset, 1), "aliases (*name) are not supported; write the value out");
  }

 private:
  struct Frame {
    Node node;
    std::optional<Node> key; // of a map: read, its value is not
    std::size_t start = 0;
  };

  static std::size_t at(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.pos, 0)); }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    throw InputError(source_->span(at(mark), 1), message);
  }

  // "?" is plain; "!" is quoted, unless the exclamation mark is really there.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    const std::size_t offset = at(mark);
    const bool written = offset < source_->text().size() && source_->text()[offset] == '!';
    if (written || (tag != "?" && tag != "!" && !tag.empty())) fail(mark, "tags (!name) are not supported");
  }

  // Bytes of a scalar as it stands in the file.
  std::size_t written_length(const Node& node) const {
    if (!node.quoted) return std::max<std::size_t>(node.text.size(), 1);
    const char first = node.offset < source_->text().size() ? source_->text()[node.offset] : '\0';
    if (first != '"' && first != '\'') return 1; // a block scalar: its | or >
    const auto end = end_of_quotes(source_->text(), node.offset);
    if (!end) throw InputError(source_->span(node.offset, 1), "this quote is never closed");
    return *end - node.offset;
  }

  Node make(const YAML::Mark& mark, NodeKind kind) {
    if (++nodes_ > limit("max_nodes"))
      fail(mark, fmt::format("more than {} values; the limit is max_nodes", limit("max_nodes")));
    Node node;
    node.kind = kind;
    node.source = source_;
    node.offset = std::min(at(mark), source_->text().size());
    node.length = 1;
    return node;
  }

  void open(Node node) {
    if (open_.size() >= static_cast<std::size_t>(limit("max_depth")))
      throw InputError(node.where(), fmt::format("nested deeper than the limit of {}", limit("max_depth")));
    const std::size_t start = node.offset;
    open_.push_back({std::move(node), std::nullopt, start});
  }

  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    if (node.kind == NodeKind::map) check_unique_keys(node);
    add(std::move(node));
  }

  void add(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = open_.back();
    if (frame.node.kind == NodeKind::list) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key) {
      check_key(node);
      frame.key = std::move(node);
    } else {
      if (node.kind != NodeKind::scalar) {
        node.offset = frame.key->offset;
        node.length = frame.key->length;
      }
      frame.node.entries.push_back({std::move(*frame.key), std::move(node)});
      frame.key.reset();
    }
  }

  static void check_key(const Node& key) {
    if (key.kind != NodeKind::scalar || key.text.empty())
      throw InputError(key.where(), fmt::format("a key must be text, found {}", describe(key)));
    if (!key.quoted && key.text == "<<")
      throw InputError(key.where(), "merge keys (<<) are not supported; write the values out");
  }

  std::shared_ptr<const Source> source_;
  std::vector<Frame> open_;
  Node root_;
  std::int64_t nodes_ = 0;
  int documents_ = 0;
};

// What yaml-cpp's terse messages mean to somebody who writes YAML.
std::string explain(const std::string& message) {
  const std::pair<std::string_view, std::string_view> kMeanings[] = {
      {YAML::ErrorMsg::MAP_VALUE, "a ':' where no value can stand; check the indentation and quotes"},
      {YAML::ErrorMsg::MAP_KEY, "a key where none can stand; check the indentation"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a '-' where no list item can stand; check the indentation"},
      {YAML::ErrorMsg::FLOW_END, "this bracket closes nothing"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "text cannot begin with this character; put it in quotes"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "this quote is never closed"},
      {YAML::ErrorMsg::END_OF_MAP, "the map ends too early; check the indentation"},
      {YAML::ErrorMsg::END_OF_SEQ, "the list ends too early; check the indentation"},
  };
  for (const auto& [theirs, ours] : kMeanings)
    if (message == theirs) return std::string(ours);
  return message;
}

// yaml-cpp's syntax errors in our form. An unclosed bracket is reported where it was opened, because that is where
// the mistake is; yaml-cpp reports the end of the file.
[[noreturn]] void throw_syntax_error(const YAML::Exception& error, const Source& source, const Builder& builder) {
  const auto offset = static_cast<std::size_t>(std::max(error.mark.pos, 0));
  if (offset < source.text().size() && source.text()[offset] == '*') builder.refuse_alias(offset);
  const bool unclosed = error.msg.find("flow not found") != std::string::npos;
  const auto bracket = unclosed ? builder.innermost_open() : std::nullopt;
  if (bracket && *bracket < source.text().size() && (source.text()[*bracket] == '[' || source.text()[*bracket] == '{'))
    throw InputError(source.span(*bracket, 1), fmt::format("'{}' is never closed", source.text()[*bracket]));
  throw InputError(source.span(offset, 1), fmt::format("not valid YAML: {}", explain(error.msg)));
}

} // namespace

bool is_null_text(std::string_view text) {
  return text == "~" || text == "null" || text == "Null" || text == "NULL";
}

const Entry* Node::find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key.text == key; });
  return it == entries.end() ? nullptr : &*it;
}

std::string describe(const Node& node) {
  switch (node.kind) {
  case NodeKind::empty:
    return "nothing";
  case NodeKind::null:
    return "null";
  case NodeKind::scalar:
    return in_quotes(node.text);
  case NodeKind::list:
    return "a list";
  case NodeKind::map:
    return "a map";
  }
  return {};
}

Node parse_value(std::shared_ptr<const Source> source) {
  check_text(*source);
  std::istringstream in(source->text());
  Builder builder(source);
  bool any = false;
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) any = true;
  } catch (const YAML::Exception& error) {
    throw_syntax_error(error, *source, builder);
  }
  if (!any) throw InputError(source->name(), "holds no value");
  return builder.take();
}

Node parse_document(std::shared_ptr<const Source> source) {
  const std::string name = source->name();
  Node root = parse_value(std::move(source));
  if (root.kind == NodeKind::empty || root.kind == NodeKind::null) throw InputError(name, "holds no value");
  if (root.kind != NodeKind::map)
    throw InputError(root.where(), fmt::format("expected 'key: value' lines, found {}", describe(root)));
  return root;
}

} // namespace tessella
