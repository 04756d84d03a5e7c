#include "kubeclient/base/jsonpath.h"

#include <algorithm>
#include <functional>

#include "kubeclient/base/jsonpath_parse.h"

namespace fleetadm {
namespace {

using PathNode = JsonPath::Node;
using Kind = PathNode::Kind;
using Values = std::vector<const Json*>;

Result<Values> evaluate_list(const PathNode& list, Values values);

// The value and every container below it that is not empty, parents first.
void containers(const Json& value, Values& into) {
  if (!value.is_structured() || value.empty()) return;
  into.push_back(&value);
  for (const Json& child : value) containers(child, into);
}

Status index_into(const Json& value, std::int64_t index, Values& into) {
  if (value.is_null()) return {};
  if (!value.is_array()) return fail(Category::kUsage, "jsonpath: an index on something that is not a list");
  const auto size = static_cast<std::int64_t>(value.size());
  const std::int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size)
    return fail(Category::kUsage,
                "jsonpath: index " + std::to_string(index) + " is out of range of a list of " + std::to_string(size));
  into.push_back(&*(value.begin() + at));
  return {};
}

Status slice_of(const Json& value, const PathNode& node, Values& into) {
  if (value.is_null()) return {};
  if (!value.is_array()) return fail(Category::kUsage, "jsonpath: a slice of something that is not a list");
  const auto size = static_cast<std::int64_t>(value.size());
  auto clamp = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t end = clamp(node.end.value_or(size));
  const std::int64_t step = std::min(node.step.value_or(1), size + 1);
  for (std::int64_t at = clamp(node.start.value_or(0)); at < end; at += step) into.push_back(&*(value.begin() + at));
  return {};
}

bool compare(const Json& left, std::string_view op, const Json& right) {
  const bool comparable = left.type() == right.type() || (left.is_number() && right.is_number());
  if (op == "==") return comparable && left == right;
  if (op == "!=") return !comparable || left != right;
  if (!comparable || left.is_structured()) return false;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  return left >= right;
}

Result<bool> passes(const PathNode& filter, const Json& item) {
  FLEETADM_TRY(const Values left, evaluate_list(filter.parts[0], {&item}));
  if (filter.text == "exists") return !left.empty();
  FLEETADM_TRY(const Values right, evaluate_list(filter.parts[1], {&item}));
  if (left.empty() || right.empty()) return false;
  if (left.size() > 1 || right.size() > 1) return fail(Category::kUsage, "jsonpath: a filter compares one value with one value");
  return compare(*left.front(), filter.text, *right.front());
}

Status step(const PathNode& node, const Json& value, Values& into) {
  switch (node.kind) {
    case Kind::kField:
      if (const Json* member = find(value, {node.text})) into.push_back(member);
      return {};
    case Kind::kIndex: return index_into(value, node.start.value_or(0), into);
    case Kind::kSlice: return slice_of(value, node, into);
    case Kind::kWildcard:
      if (value.is_structured())
        for (const Json& child : value) into.push_back(&child);
      return {};
    case Kind::kRecursive: containers(value, into); return {};
    case Kind::kUnion:
      for (const PathNode& member : node.parts) {
        if (member.kind == Kind::kList) {
          FLEETADM_TRY(const Values more, evaluate_list(member, {&value}));
          into.insert(into.end(), more.begin(), more.end());
        } else {
          FLEETADM_CHECK(step(member, value, into));
        }
      }
      return {};
    case Kind::kFilter:
      if (!value.is_array()) {
        if (value.is_null()) return {};
        return fail(Category::kUsage, "jsonpath: a filter on something that is not a list");
      }
      for (const Json& item : value) {
        FLEETADM_TRY(const bool pass, passes(node, item));
        if (pass) into.push_back(&item);
      }
      return {};
    case Kind::kList: {
      FLEETADM_TRY(const Values more, evaluate_list(node, {&value}));
      into.insert(into.end(), more.begin(), more.end());
      return {};
    }
    case Kind::kText:
    case Kind::kConstant:
    case Kind::kRange: return {};
  }
  return {};
}

Result<Values> evaluate_list(const PathNode& list, Values values) {
  for (const PathNode& node : list.parts) {
    if (node.kind == Kind::kConstant) {
      values = {&node.constant};
      continue;
    }
    Values next;
    for (const Json* value : values) FLEETADM_CHECK(step(node, *value, next));
    values = std::move(next);
  }
  return values;
}

// Walks a template. `text` gets literal text, `found` the values of one expression.
Status walk(const std::vector<PathNode>& nodes, const Json& root, const std::function<void(const std::string&)>& text,
            const std::function<void(const Values&)>& found) {
  for (const PathNode& node : nodes) {
    if (node.kind == Kind::kText) {
      text(node.text);
      continue;
    }
    if (node.kind == Kind::kRange) {
      FLEETADM_TRY(const Values items, evaluate_list(node.parts.front(), {&root}));
      for (const Json* item : items) FLEETADM_CHECK(walk(node.body, *item, text, found));
      continue;
    }
    FLEETADM_TRY(const Values values, evaluate_list(node, {&root}));
    found(values);
  }
  return {};
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  FLEETADM_TRY(std::vector<PathNode> nodes, parse_jsonpath(text));
  JsonPath path;
  path.nodes_ = std::make_shared<const std::vector<PathNode>>(std::move(nodes));
  return path;
}

Result<JsonPath> JsonPath::parse_path(std::string_view text) {
  std::string full(text);
  if (full.empty()) return fail(Category::kUsage, "jsonpath: empty path");
  if (full.front() != '{') {
    if (full.front() == '$') full.erase(0, 1);
    full = (full.empty() || (full.front() != '.' && full.front() != '[') ? "{." : "{") + full + "}";
  }
  FLEETADM_TRY(JsonPath path, parse(full));
  for (const PathNode& node : *path.nodes_)
    if (node.kind != Kind::kList)
      return fail(Category::kUsage, "jsonpath: one path like {.metadata.name} is expected, not \"" + std::string(text) + "\"");
  return path;
}

Result<std::string> JsonPath::print(const Json& root) const {
  std::string out;
  FLEETADM_CHECK(walk(
      *nodes_, root, [&](const std::string& text) { out += text; },
      [&](const Values& values) {
        bool first = true;
        for (const Json* value : values) {
          if (!first) out += ' ';
          first = false;
          out += plain_text(*value);
        }
      }));
  return out;
}

Result<std::vector<const Json*>> JsonPath::find(const Json& root) const {
  Values all;
  FLEETADM_CHECK(walk(
      *nodes_, root, [](const std::string&) {},
      [&](const Values& values) { all.insert(all.end(), values.begin(), values.end()); }));
  return all;
}

std::string plain_text(const Json& value) {
  if (const auto* text = value.get_ptr<const Json::string_t*>()) return *text;
  return value.is_null() ? std::string() : dump_json(value);
}

}  // namespace fleetadm
