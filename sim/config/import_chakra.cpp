#include "sim/config/import_chakra.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "sim/base/error.h"

namespace tessella {
namespace {

constexpr std::uint64_t kMaxMessage = 64 << 20;
constexpr std::size_t kMaxRows = 100'000; // of the ledger: a group per message is no trace

// Numbers of et_def.proto.
enum NodeType : std::uint64_t { kComp = 4, kSend = 5, kRecv = 6, kCollective = 7, kLastType = 10 };
constexpr std::array<std::string_view, 10> kCollectives = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

struct Broken {
  std::size_t at; // byte inside the message
  const char* why;
};

// The wire format: fields behind a key of number and wire type.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}
  bool end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (end()) throw Broken{at_, "ends inside a number"};
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Broken{at_, "a number has more than ten bytes"};
  }

  std::uint64_t fixed(std::size_t size) {
    const std::string_view raw = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(raw[i]);
    return value;
  }

  std::string_view text() { return take(varint()); }

  void skip(std::uint64_t wire_type) {
    if (wire_type == 0)
      varint();
    else if (wire_type == 1)
      fixed(8);
    else if (wire_type == 2)
      text();
    else if (wire_type == 5)
      fixed(4);
    else
      throw Broken{at_, "a field of unknown wire type"};
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) throw Broken{at_, "a field is longer than its message"};
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

struct Attribute {
  std::string_view name;
  std::optional<std::uint64_t> number; // of any integer type
  std::optional<std::string_view> text;
};

Attribute read_attribute(std::string_view bytes) {
  Attribute a;
  for (Wire wire(bytes); !wire.end();) {
    const std::uint64_t key = wire.varint();
    const std::uint64_t field = key >> 3;
    const bool integer = field == 7 || field == 9 || field == 11 || field == 13;
    const bool zigzag = field == 15 || field == 17;
    if (key == (1 << 3 | 2)) {
      a.name = wire.text();
    } else if (key == (29 << 3 | 2)) {
      a.text = wire.text();
    } else if ((integer || zigzag) && (key & 7) == 0) {
      const std::uint64_t raw = wire.varint();
      a.number = zigzag ? raw >> 1 ^ (~(raw & 1) + 1) : raw;
    } else if ((field >= 19 && field <= 25) && ((key & 7) == 1 || (key & 7) == 5)) {
      a.number = wire.fixed((key & 7) == 1 ? 8 : 4);
    } else {
      wire.skip(key & 7);
    }
  }
  return a;
}

struct ChakraNode {
  std::uint64_t type = 0;
  std::optional<std::uint64_t> collective;
  std::optional<std::uint64_t> size;
  std::string group;
};

void take_attribute(const Attribute& a, ChakraNode& node) {
  if (a.name == "comm_type") node.collective = a.number;
  if (a.name == "comm_size") node.size = a.number;
  if (a.name == "pg_name" || a.name == "comm_group" || (a.name == "involved_dim" && node.group.empty()))
    node.group = a.text ? std::string(*a.text) : a.number ? std::to_string(*a.number) : node.group;
}

ChakraNode read_node(std::string_view bytes) {
  ChakraNode node;
  for (Wire wire(bytes); !wire.end();) {
    const std::uint64_t key = wire.varint();
    if (key == (3 << 3)) {
      node.type = wire.varint();
      if (node.type > kLastType) throw Broken{wire.at(), "a node of unknown type"};
    } else if (key == (10 << 3 | 2)) {
      take_attribute(read_attribute(wire.text()), node);
    } else {
      wire.skip(key & 7);
    }
  }
  return node;
}

std::string read_version(std::string_view bytes) {
  std::string version;
  for (Wire wire(bytes); !wire.end();) {
    const std::uint64_t key = wire.varint();
    if (key == (1 << 3 | 2))
      version = wire.text();
    else
      wire.skip(key & 7);
  }
  return version;
}

std::string type_name(const ChakraNode& node) {
  if (node.type == kSend) return "SEND";
  if (node.type == kRecv) return "RECV";
  if (!node.collective) return "COLLECTIVE";
  if (*node.collective >= kCollectives.size()) throw Broken{0, "a collective of unknown type"};
  return std::string(kCollectives[*node.collective]);
}

void book(const ChakraNode& node, ChakraTrace& trace) {
  ++trace.nodes;
  if (node.type == kComp) ++trace.compute_nodes;
  if (node.type != kSend && node.type != kRecv && node.type != kCollective) return;
  if (!node.size) ++trace.without_size;
  if (node.size.value_or(0) >> 62 != 0) throw Broken{0, "a size of more than 2^62 bytes"};
  add(trace.ledger, type_name(node), "", node.group, Bytes{static_cast<std::int64_t>(node.size.value_or(0))});
  if (trace.ledger.size() > kMaxRows) throw Broken{0, "more than 100,000 communication groups"};
}

// The length in front of a message; nothing at the end of the file.
std::optional<std::uint64_t> message_length(std::istream& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const int byte = in.get();
    if (byte == std::istream::traits_type::eof()) {
      if (shift == 0) return std::nullopt;
      throw Broken{0, "ends inside the length of a message"};
    }
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw Broken{0, "the length of a message has more than ten bytes"};
}

} // namespace

ChakraTrace read_chakra(const std::string& file_name, std::istream& in) {
  ChakraTrace trace;
  std::string message;
  std::uint64_t begin = 0;
  bool first = true;
  try {
    while (const auto length = message_length(in)) {
      begin += static_cast<std::uint64_t>((std::bit_width(*length | 1) + 6) / 7);
      if (*length > kMaxMessage) throw Broken{0, "a message is longer than 64 MiB"};
      message.resize(*length);
      in.read(message.data(), static_cast<std::streamsize>(*length));
      if (static_cast<std::uint64_t>(in.gcount()) != *length) throw Broken{0, "the file ends inside a message"};
      if (first)
        trace.version = read_version(message);
      else
        book(read_node(message), trace);
      first = false;
      begin += *length;
    }
  } catch (const Broken& broken) {
    throw InputError(
        SourceSpan{file_name, 0, 0, 0, {}},
        fmt::format("not a Chakra trace, or a damaged one: at byte {}: {}", begin + broken.at, broken.why));
  }
  if (first || trace.nodes == 0)
    throw InputError(SourceSpan{file_name, 0, 0, 0, {}}, "holds no nodes; a Chakra trace has metadata, then nodes");
  return trace;
}

} // namespace tessella
