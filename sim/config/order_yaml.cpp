#include "sim/config/order_yaml.h"

#include <fmt/format.h>

#include <memory>

#include "sim/base/nearest.h"
#include "sim/config/document.h"
#include "sim/config/flow_map.h"
#include "sim/config/quantity.h"

namespace tessella {
namespace {

PairPasses read_passes(const Node& node) {
  constexpr auto wrong = "passes are two of F and B, such as [F, B]";
  require_list(node);
  if (node.items.size() != 2) throw InputError(node.where(), wrong);
  PairPasses passes{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& text = node.items[i].text;
    if (text != "F" && text != "B") throw InputError(node.items[i].where(), wrong);
    passes[i] = text == "F" ? ActionKind::F : ActionKind::B;
  }
  return passes;
}

TaskId read_task(const Node& node, const PairPasses& passes) {
  const std::string text = read_text(node);
  if (const auto task = parse_task(text, passes)) return *task;
  const TaskId first{0, false, TaskPart::attention, 0, 0};
  const TaskId second{1, false, TaskPart::dispatch, 0, 0};
  throw InputError(node.where(), fmt::format("'{}' is not the name of a task, such as {} or {}", text,
                                             to_text(first, passes), to_text(second, passes)));
}

const Node* list_of_orders(const Node& root) {
  const Entry* pairs = root.find("pairs");
  return pairs == nullptr ? nullptr : &pairs->value;
}

std::vector<PairOrder> read_orders(const Node& root, Problems& problems) {
  if (list_of_orders(root) == nullptr) return {read_pair_order(root, problems)};
  std::vector<PairOrder> orders;
  const auto read = [&](const Node& n) {
    return read_list<PairOrder>(n, problems, [&](const Node& item) { return read_pair_order(item, problems); });
  };
  if (root.find("plan") != nullptr) return read(*list_of_orders(root)); // plan_yaml.h minds the rest
  MapReader map(root, problems, "the file of orders");
  map.required("pairs", orders, read);
  map.done();
  return orders;
}

} // namespace

std::string to_yaml(const PairOrder& order, const std::string& first_indent, const std::string& indent) {
  std::string text;
  const auto line = [&](const std::string& content) {
    text += (text.empty() ? first_indent : indent) + content + "\n";
  };
  if (!order.first.empty()) line("first: " + quote_yaml(order.first));
  if (!order.second.empty()) line("second: " + quote_yaml(order.second));
  if (order.post_overlap.ps != 0) line("post_overlap: " + duration_text(order.post_overlap));
  const std::string lanes = to_text(order.plan, indent);
  return text + (text.empty() ? first_indent + lanes.substr(indent.size()) : lanes);
}

PairOrder read_pair_order(const Node& node, Problems& problems) {
  PairOrder order;
  MapReader map(node, problems, "the order");
  map.optional("first", order.first, read_text);
  map.optional("second", order.second, read_text);
  map.optional("post_overlap", order.post_overlap, read_duration);
  map.optional("passes", order.plan.passes, read_passes);
  const auto tasks = [&](const Node& n) {
    return read_list<TaskId>(n, problems, [&](const Node& item) { return read_task(item, order.plan.passes); });
  };
  map.required("compute", order.plan.compute, tasks);
  map.required("ep", order.plan.ep, tasks);
  map.done();
  return order;
}

std::vector<PairOrder> load_pair_orders_text(const std::string& file_name, const std::string& text) {
  return read_document<std::vector<PairOrder>>(file_name, text, read_orders);
}

std::vector<PairOrder> load_pair_orders(const std::filesystem::path& file) {
  return load_pair_orders_text(display_path(file), read_file(file));
}

SourceSpan position_of(const std::string& file_name, const std::string& text, const TaskPlace& place) {
  const Node root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  const Node* order = &root;
  if (const Node* list = list_of_orders(root)) order = &list->items.at(place.order);
  const Entry* lane = order->find(place.lane);
  if (lane == nullptr) return order->entries.front().key.where();
  return place.task < lane->value.items.size() ? lane->value.items[place.task].where() : lane->key.where();
}

} // namespace tessella
