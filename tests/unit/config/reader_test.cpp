#include "sim/config/reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

using namespace tessella;

namespace {

Node parse(const std::string& text) {
  return parse_document(std::make_shared<const Source>(Source::file("f.yaml", text)));
}

// The value under `a`, through a reader, or the message.
template <class Reader>
auto read(const std::string& value, const Reader& reader) {
  const Node root = parse("a: " + value + "\n");
  return reader(root.entries[0].value);
}

template <class Reader>
std::string refusal(const std::string& value, const Reader& reader) {
  try {
    read(value, reader);
  } catch (const InputError& error) {
    return error.message();
  }
  return "accepted";
}

std::string problems_of(const Problems& problems) {
  try {
    problems.throw_if_any();
  } catch (const InputError& error) {
    std::string text = error.message();
    for (const Note& note : error.notes()) text += "\n" + note.text;
    return text;
  }
  return "none";
}

constexpr Alias kAliases[] = {{"tp", "tensor_size"}, {"tensor_parallel_degree", "tensor_size"}};

} // namespace

TEST_CASE("reader: whole numbers are decimal digits and nothing else") {
  constexpr Count count("seq_length");
  CHECK(read("1", count) == 1);
  CHECK(read("134217728", count) == 134217728);
  CHECK(read("0", Count("seq_length", 0)) == 0);
  CHECK(refusal("134217729", count) == "seq_length is 134217729, above the limit of 134217728");
  CHECK(refusal("0", count) == "seq_length is 0; it must be at least 1");
  CHECK(refusal("-9223372036854775809", count) == "seq_length is -9223372036854775809; it must be at least 1");
  CHECK(refusal("9223372036854775808", count) == "seq_length is 9223372036854775808, above the limit of 134217728");
  const std::string wrong = "seq_length must be a whole number in decimal digits, found ";
  CHECK(refusal("010", count) == wrong + "'010'; did you mean 10?");
  CHECK(refusal("1e3", count) == wrong + "'1e3'; did you mean 1000?");
  CHECK(refusal("4.5", count) == wrong + "'4.5'");
  CHECK(refusal("0x10", count) == wrong + "'0x10'");
  CHECK(refusal("1_000", count) == wrong + "'1_000'");
  CHECK(refusal("+5", count) == wrong + "'+5'; did you mean 5?");
  CHECK(refusal("12:30", count) == wrong + "'12:30'"); // base 60 in YAML 1.1
  CHECK(refusal(".inf", count) == wrong + "'.inf'");
  CHECK(refusal("1.0e+12", count) == "seq_length is 1.0e+12, above the limit of 134217728");
  CHECK(refusal("true", count) == wrong + "'true'");
  CHECK(refusal("'5'", count) == "expected a whole number for seq_length, found the text '5'; remove the quotes");
  CHECK(refusal("[5]", count) == "expected a whole number for seq_length, found a list");
  CHECK(refusal("", count) == "expected a whole number for seq_length, found nothing");
}

TEST_CASE("reader: booleans are true and false and nothing else") {
  CHECK(read("true", read_bool));
  CHECK(!read("false", read_bool));
  for (const char* word : {"yes", "no", "on", "off", "True", "TRUE", "y", "1", "0", "'true'", "[true]", ""})
    CHECK(refusal(word, read_bool) != "accepted");
}

TEST_CASE("reader: numbers, text, names, quantities") {
  const Number number{"phi", 0.0, 1.0};
  CHECK(read("0.92", number) == 0.92);
  CHECK(read("1e-3", number) == 1e-3);
  CHECK(refusal("1.5", number) == "phi is 1.5, outside its limits of 0 and 1");
  CHECK(refusal(".nan", number) == "phi must be a finite number, found '.nan'");
  CHECK(refusal("1e999", number) == "phi must be a finite number, found '1e999'");
  CHECK(read("yes", read_text) == "yes");
  CHECK(read("'1'", read_text) == "1");
  CHECK(refusal("''", read_text) == "the text is empty");
  CHECK(refusal(std::string(70000, 'x'), read_text) == "the text has 70000 characters; the limit is 65536");
  CHECK(read("a_b-c.d/e9", read_name) == "a_b-c.d/e9");
  for (const char* bad : {"'a b'", "-a", ".a", "'null'", "a:b", "\"a\\n\"", "'..'"})
    CHECK(refusal(bad, read_name) != "accepted");
  CHECK(read("80 GiB", read_bytes) == Bytes{85899345920});
  CHECK(read("'80 GiB'", read_bytes) == Bytes{85899345920});
  CHECK(read("2 %", read_fraction) == 0.02);
  CHECK(refusal("200 %", read_fraction) == "'200 %' is above 1; write '2 %' or 0.02");
}

TEST_CASE("reader: unknown, misspelt, missing and doubled keys") {
  const auto run = [](const std::string& text) {
    const Node root = parse(text);
    Problems problems;
    std::int64_t size = 0, seq = 0;
    MapReader map(root, problems, "the test", kAliases);
    map.required("tensor_size", size, Count("heads"));
    map.optional("seq", seq, Count("seq_length"));
    map.refuse("dp", "it is derived");
    map.done();
    return problems_of(problems) + "|" + std::to_string(size) + "," + std::to_string(seq);
  };
  CHECK(run("tensor_size: 2\nseq: 3\n") == "none|2,3");
  CHECK(run("tp: 2\n") == "none|2,0");
  CHECK(run("tensor_parallel_degree: 2\nseq: null\n") == "none|2,0");
  CHECK(run("seq: 3\n") == "missing key 'tensor_size' in the test|0,3");
  CHECK(run("tensor_size: null\n") == "missing key 'tensor_size' in the test|0,0");
  CHECK(run("tensr_size: 2\n") == "unknown key 'tensr_size' in the test; did you mean 'tensor_size'?|0,0");
  CHECK(run("tensor_parallel_dgree: 2\n") ==
        "unknown key 'tensor_parallel_dgree' in the test; did you mean 'tensor_size'?|0,0");
  CHECK(run("tensor_size: 1\ntq: 2\n") == "unknown key 'tq' in the test; did you mean 'tp'?|1,0");
  CHECK(run("tensor_size: 1\nsomething_else: 2\n") == "unknown key 'something_else' in the test|1,0");
  CHECK(run("tensor_size: 1\ntp: 2\n") == "'tp' and 'tensor_size' are the same key\nfirst given here|1,0");
  CHECK(run("tp: 2\ndp: 1\n") == "'dp' has no meaning here: it is derived|2,0");
}

TEST_CASE("reader: all problems are told, but not without end") {
  Problems problems;
  for (int i = 0; i < 25; ++i) problems.add(InputError("f", fmt::format("p{}", i)));
  try {
    problems.throw_if_any();
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK(error.message() == "p0");
    REQUIRE(error.notes().size() == 20);
    CHECK(error.notes()[18].text == "p19");
    CHECK(error.notes()[19].text == "and 5 more");
  }
  for (int i = 0; i < 1000; ++i) problems.add(InputError("f", "p"));
  CHECK(problems.full());
  CHECK(problems_of(problems).ends_with("and at least 80 more"));
}
