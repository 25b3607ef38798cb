#include "sim/config/node.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/config/message.h"

using namespace tessella;

namespace {

Node parse(const std::string& text) {
  return parse_document(std::make_shared<const Source>(Source::file("f.yaml", text)));
}

std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return std::to_string(error.where().line) + ":" + std::to_string(error.where().column) + " " + error.message();
  }
  return "accepted";
}

const Node& at(const Node& map, const char* key) {
  const Entry* e = map.find(key);
  REQUIRE(e != nullptr);
  return e->value;
}

SourceSpan where(const Node& map, const char* key) {
  return at(map, key).where();
}

} // namespace

TEST_CASE("node: positions count from 1 and cover the text as written") {
  const Node root = parse("a: 12\nlong_key: \"x\\\"y\"  # note\nlist: [1, {k: 5 %}]\nb:\n  c: d e\n");
  CHECK(where(root, "a") == SourceSpan{"f.yaml", 1, 4, 2, "a: 12"});
  CHECK(where(root, "long_key") == SourceSpan{"f.yaml", 2, 11, 6, "long_key: \"x\\\"y\"  # note"});
  CHECK(at(root, "long_key").text == "x\"y");
  CHECK(at(root, "long_key").quoted);
  const Node& list = at(root, "list");
  CHECK(list.where() == SourceSpan{"f.yaml", 3, 1, 4, "list: [1, {k: 5 %}]"}); // a list points at its key
  CHECK(list.items[0].where().column == 8);
  CHECK(list.items[1].where().column == 11); // a map in a list points at itself
  CHECK(at(list.items[1], "k").text == "5 %");
  CHECK(where(root, "b") == SourceSpan{"f.yaml", 4, 1, 1, "b:"});
  CHECK(where(at(root, "b"), "c") == SourceSpan{"f.yaml", 5, 6, 3, "  c: d e"});
}

TEST_CASE("node: columns count characters; Windows line ends and a byte order mark leave no trace") {
  const Node root = parse("\xef\xbb\xbf\xc3\xa9: 1\r\nb: \xe6\x97\xa5\xe6\x9c\xac x\r\n");
  CHECK(root.entries[0].value.where() == SourceSpan{"f.yaml", 1, 4, 1, "\xc3\xa9: 1"});
  CHECK(where(root, "b") == SourceSpan{"f.yaml", 2, 4, 4, "b: \xe6\x97\xa5\xe6\x9c\xac x"});
}

TEST_CASE("node: a key without a value is not null") {
  const Node root = parse("a:\nnull_like: ~\nb: null\nc: Null\nd: nullish\n");
  CHECK(at(root, "a").kind == NodeKind::empty);
  CHECK(where(root, "a") == SourceSpan{"f.yaml", 1, 1, 1, "a:"});
  CHECK(at(root, "null_like").kind == NodeKind::null);
  CHECK(at(root, "b").kind == NodeKind::null);
  CHECK(at(root, "c").kind == NodeKind::null);
  CHECK(at(root, "d").text == "nullish");
}

TEST_CASE("node: what yaml-cpp would let pass is refused") {
  CHECK(refusal("a: 1\nb: 2\na: 3\n") == "3:1 duplicate key 'a'");
  CHECK(refusal("m: {x: 1, x: 2}\n") == "1:11 duplicate key 'x'");
  CHECK(refusal("a: &x 1\n") == "1:4 anchors (&name) are not supported; write the value out");
  CHECK(refusal("a: *x\n") == "1:4 aliases (*name) are not supported; write the value out");
  CHECK(refusal("<<: {a: 1}\n") == "1:1 merge keys (<<) are not supported; write the values out");
  CHECK(refusal("a: !!int 1\n") == "1:4 tags (!name) are not supported");
  CHECK(refusal("a: ! 1\n") == "1:4 tags (!name) are not supported");
  CHECK(refusal("a: !x [1]\n") == "1:4 tags (!name) are not supported");
  CHECK(refusal("? [a]\n: 1\n") == "1:3 a key must be text, found a list");
  CHECK(refusal("? {a: 1}\n: 1\n") == "1:3 a key must be text, found a map");
  CHECK(refusal("~: 1\n") == "1:1 a key must be text, found null");
  CHECK(refusal("\"\": 1\n") == "1:1 a key must be text, found ''");
  CHECK(refusal("a: 1\n---\nb: 2\n") == "2:1 a second document; a file holds one");
  CHECK(refusal("%TAG ! x\n---\na: 1\n") == "1:1 YAML directives (%...) are not supported");
  CHECK(refusal("a:\n\tb: 1\n") == "2:1 tab in the indentation; YAML indents with spaces");
  CHECK(refusal("a: \"b\nc: d\n") == "1:4 this quote is never closed");
  CHECK(refusal("a: 'it''s\n") == "1:4 this quote is never closed");
  CHECK(refusal("a: [1, 2\nb: 3\n").starts_with("1:4 '[' is never closed"));
  CHECK(refusal("") == "0:0 holds no value");
  CHECK(refusal("---\n") == "0:0 holds no value");
  CHECK(refusal("- a\n") == "1:1 expected 'key: value' lines, found a list");
  CHECK(refusal("word\n") == "1:1 expected 'key: value' lines, found 'word'");
}

TEST_CASE("node: quotes that do close are no error") {
  const Node root = parse("a: 'it''s'\nb: \"c \\\\\"\nd: \"two\n  lines\"\ne: don't\nf: |\n  \"open\n");
  CHECK(at(root, "a").text == "it's");
  CHECK(at(root, "b").text == "c \\");
  CHECK(at(root, "d").text == "two lines");
  CHECK(at(root, "e").text == "don't");
  CHECK(at(root, "f").text == "\"open\n");
}

TEST_CASE("node: only text passes") {
  CHECK(refusal(std::string("a: \0b\n", 6)) == "1:4 control character 0x00; is this a binary file?");
  CHECK(refusal("a: b\rc: d\n") == "1:5 control character 0x0d; is this a binary file?");
  CHECK(refusal("a: \xff\n") == "1:4 not UTF-8 text; is this a binary file?");
  CHECK(refusal("a: \xc0\xaf\n") == "1:4 not UTF-8 text; is this a binary file?");     // overlong
  CHECK(refusal("a: \xed\xa0\x80\n") == "1:4 not UTF-8 text; is this a binary file?"); // surrogate
  CHECK(refusal("a: \xf4\x90\x80\x80\n") == "1:4 not UTF-8 text; is this a binary file?");
  CHECK(refusal("a: \xe2\x82") == "1:4 not UTF-8 text; is this a binary file?"); // cut off
  CHECK(refusal("a: \xe2\x82\xac \xf0\x9f\x9a\x80\n") == "accepted");
}

TEST_CASE("node: size and depth are bounded") {
  CHECK(refusal("a: " + std::string(31, '[') + std::string(31, ']')) == "accepted"); // with the map on top: 32 levels
  CHECK(refusal("a: " + std::string(32, '[') + std::string(32, ']')) == "1:35 nested deeper than the limit of 32");
  CHECK(refusal("a: " + std::string(1'000'000, '[')).ends_with("nested deeper than the limit of 32"));
  std::string many = "a: [";
  for (int i = 0; i < 100'000; ++i) many += "1,";
  CHECK(refusal(many + "]").ends_with("more than 100000 values; the limit is max_nodes"));
  CHECK(refusal("a: " + std::string(3'000'000, 'x')) == "0:0 has 3000003 bytes; the limit is 2097152");
  // The same key a hundred thousand times does not take quadratic time.
  std::string keys;
  for (int i = 0; i < 40'000; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  CHECK(refusal(keys) == "accepted");
  CHECK(refusal(keys + "key7: 2\n") == "40001:1 duplicate key 'key7'");
}

TEST_CASE("node: a very long line is not shown") {
  const Node root = parse("a: " + std::string(500, 'x') + "\n");
  CHECK(where(root, "a") == SourceSpan{"f.yaml", 1, 4, 0, ""});
}

TEST_CASE("message: quoted text is short and printable") {
  CHECK(in_quotes("GB/s") == "'GB/s'");
  CHECK(in_quotes("a\nb\x01\xff") == "'a\\nb\\x01\\xff'");
  CHECK(in_quotes("\xc3\xa9") == "'\xc3\xa9'");
  CHECK(in_quotes(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
}
