#include "sim/config/override_map.h"

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/config/flow_map.h"
#include "sim/config/message.h"

namespace tessella {

std::string flow_text(const Node& node) {
  if (node.kind == NodeKind::scalar) return node.quoted ? quote_yaml(node.text) : node.text;
  if (node.kind == NodeKind::list) {
    std::string out;
    for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + flow_text(item);
    return "[" + out + "]";
  }
  if (node.kind == NodeKind::map) {
    FlowMap map;
    for (const Entry& entry : node.entries) map.raw(quote_yaml(entry.key.text), flow_text(entry.value));
    return map.text();
  }
  return "null";
}

std::string path_of_key(const Node& key) {
  if (key.text.empty() || key.text.find_first_of("= \n") != std::string::npos)
    throw InputError(key.where(), fmt::format("{} is not a path such as parallelism.tp", in_quotes(key.text)));
  return key.text;
}

std::vector<std::string> read_overrides(const Node& node) {
  if (node.kind != NodeKind::map)
    throw InputError(node.where(), fmt::format("expected a map of paths to values, not {}", describe(node)));
  std::vector<std::string> out;
  for (const Entry& entry : node.entries) out.push_back(path_of_key(entry.key) + "=" + flow_text(entry.value));
  return out;
}

} // namespace tessella
