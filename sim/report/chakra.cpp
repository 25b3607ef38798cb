#include "sim/report/chakra.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/check.h"

namespace tessella {
namespace {

// Numbers of et_def.proto.
enum NodeType : std::uint64_t { kComp = 4, kSend = 5, kRecv = 6, kCollective = 7 };
constexpr std::array<std::string_view, 8> kCollectives = {"ALL_REDUCE", "REDUCE",    "ALL_GATHER", "GATHER",
                                                          "SCATTER",    "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER"};

// The wire format: fields behind a key of number and wire type.
class Message {
 public:
  Message& number(std::uint64_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& text(std::uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  // Attributes are field 10 of a node, 2 of the metadata.
  Message& attribute(std::string_view name, std::int64_t value) { // int64_val
    return text(10, Message().text(1, name).number(9, static_cast<std::uint64_t>(value)).bytes_);
  }
  Message& attribute(std::string_view name, std::string_view value, std::uint64_t field = 10) { // string_val
    return text(field, Message().text(1, name).text(29, value).bytes_);
  }
  Message& off(std::string_view name) { // bool_val
    return text(10, Message().text(1, name).number(27, 0).bytes_);
  }
  Message& packed(std::uint64_t field, const std::vector<std::size_t>& values) {
    Message list;
    for (const std::size_t v : values) list.varint(v + 1);
    return values.empty() ? *this : text(field, list.bytes_);
  }
  // Behind its length.
  std::string framed() const {
    Message length;
    length.varint(bytes_.size());
    return length.bytes_ + bytes_;
  }

 private:
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

std::uint64_t micros(std::int64_t ps) {
  return static_cast<std::uint64_t>((ps + 500'000) / 1'000'000);
}

std::uint64_t type_of(const TraceNode& n) {
  switch (n.kind) {
  case TraceNode::Kind::collective:
    return kCollective;
  case TraceNode::Kind::send:
    return kSend;
  case TraceNode::Kind::receive:
    return kRecv;
  case TraceNode::Kind::compute:
    break;
  }
  return kComp;
}

std::string node(const RankTrace& trace, std::size_t at) {
  const TraceNode& n = trace.nodes[at];
  Message m;
  m.number(1, at + 1).text(2, n.name).number(3, type_of(n)).packed(5, n.after);
  m.number(6, micros(n.begin.ps)).number(7, micros(n.duration.ps));
  m.off("is_cpu_op").attribute("duration_ps", n.duration.ps);
  if (n.kind == TraceNode::Kind::compute) return m.framed();
  if (n.kind == TraceNode::Kind::collective) {
    const auto type = std::find(kCollectives.begin(), kCollectives.end(), n.collective);
    TSL_CHECK(type != kCollectives.end());
    m.attribute("comm_type", type - kCollectives.begin()).attribute("pg_name", n.group);
  } else {
    const bool sends = n.kind == TraceNode::Kind::send;
    m.attribute("comm_src", sends ? trace.rank : n.peer).attribute("comm_dst", sends ? n.peer : trace.rank);
    m.attribute("comm_tag", n.tag);
  }
  return m.attribute("comm_size", n.size.count).framed();
}

} // namespace

std::string chakra_et(const RankTrace& trace, const std::string& tool) {
  std::string out = Message().text(1, "0.0.4").attribute("simulated_by", tool, 2).framed(); // GlobalMetadata
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) out += node(trace, i);
  return out;
}

} // namespace tessella
