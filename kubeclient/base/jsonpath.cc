#include "kubeclient/base/jsonpath.h"

#include <algorithm>
#include <array>
#include <functional>

#include "kubeclient/base/jsonpath_parse.h"

namespace fleetadm {
namespace {

using PathNode = JsonPath::Node;
using Kind = PathNode::Kind;
using Values = std::vector<const Json*>;

constexpr std::size_t kMaxItems = 10'000;  // that the path of a rule or column selects

// The value and every container below it that is not empty, parents first. `strings` count as containers in a rule's path.
void containers(const Json& value, bool strings, Values& into) {
  if (strings && value.is_string() && !value.get_ref<const Json::string_t&>().empty()) into.push_back(&value);
  if (!value.is_structured() || value.empty()) return;
  into.push_back(&value);
  for (const Json& child : value) containers(child, strings, into);
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

const std::vector<Json>& byte_values() {
  static const std::vector<Json> values = [] {
    std::vector<Json> all;
    for (int i = 0; i < 256; ++i) all.emplace_back(i);
    return all;
  }();
  return values;
}

/// As Kubernetes compares the values of a rule's filter: only such of one kind, and only texts and numbers by order.
Result<bool> compare_strictly(const Json& left, std::string_view op, const Json& right) {
  const auto kind_of = [](const Json& value) {
    return value.is_number_unsigned() ? Json::value_t::number_integer : value.type();
  };
  const bool ordered = op != "==" && op != "!=";
  for (const Json* value : {&left, &right}) {
    if (value->is_structured() || value->is_null() || (ordered && value->is_boolean()))
      return fail(Category::kInvalid, "a value of this type cannot be compared");
  }
  if (kind_of(left) != kind_of(right)) return fail(Category::kInvalid, "values of different types cannot be compared");
  static constexpr std::array<std::string_view, 6> kKnown{"==", "!=", "<", "<=", ">", ">="};
  if (std::find(kKnown.begin(), kKnown.end(), op) == kKnown.end())
    return fail(Category::kInvalid, "unrecognized filter operator " + std::string(op));
  return compare(left, op, right);
}

/// Finds what a path means. Templates are lenient; a rule's path is strict: Kubernetes' words for what is wrong, no slice beyond
/// the list, and a bound on what is selected.
class Evaluator {
 public:
  explicit Evaluator(bool strict) : strict_(strict) {}

  Result<Values> list(const PathNode& list, Values values) const {
    for (const PathNode& node : list.parts) {
      if (node.kind == Kind::kConstant) {
        values = {&node.constant};
        continue;
      }
      if (node.kind == Kind::kIdentifier) return fail(Category::kInvalid, "unrecognized identifier " + node.text);
      Values next;
      if (strict_ && node.kind == Kind::kUnion) {
        for (const PathNode& member : node.parts) {
          FLEETADM_TRY(const Values more, this->list(member, values));
          next.insert(next.end(), more.begin(), more.end());
        }
      } else {
        bool on = true;
        for (auto value = values.begin(); on && value != values.end(); ++value) FLEETADM_CHECK(step(node, **value, next, on));
      }
      values = std::move(next);
      if (strict_ && values.size() > kMaxItems) return fail(Category::kInvalid, "the path selects too many values");
    }
    return values;
  }

 private:
  tl::unexpected<Error> wrong(const std::string& of_template, const std::string& of_rule) const {
    return strict_ ? fail(Category::kInvalid, of_rule) : fail(Category::kUsage, "jsonpath: " + of_template);
  }

  /// `on` is set to false where the values after this one do not count.
  Status step(const PathNode& node, const Json& value, Values& into, bool& on) const {
    switch (node.kind) {
      case Kind::kField:
        if (const Json* member = find(value, {node.text})) into.push_back(member);
        break;
      case Kind::kIndex: return index(value, node.start.value_or(0), into);
      case Kind::kSlice: return slice(value, node, into, on);
      case Kind::kWildcard:
        if (value.is_structured())
          for (const Json& child : value) into.push_back(&child);
        if (strict_ && value.is_string())  // in Kubernetes the elements of a text are its bytes
          for (const char c : value.get_ref<const Json::string_t&>())
            into.push_back(&byte_values()[static_cast<unsigned char>(c)]);
        break;
      case Kind::kRecursive: containers(value, strict_, into); break;
      case Kind::kUnion:
        for (const PathNode& member : node.parts) FLEETADM_CHECK(step(member, value, into, on));
        break;
      case Kind::kFilter: return filter(node, value, into);
      case Kind::kList: {
        FLEETADM_TRY(const Values more, list(node, {&value}));
        into.insert(into.end(), more.begin(), more.end());
        break;
      }
      case Kind::kIdentifier:
      case Kind::kText:
      case Kind::kConstant:
      case Kind::kRange: break;
    }
    if (strict_ && into.size() > kMaxItems) return fail(Category::kInvalid, "the path selects too many values");
    return {};
  }

  tl::unexpected<Error> out_of_bounds(std::int64_t index, std::size_t size) const {
    const std::string at = std::to_string(index);
    const std::string length = std::to_string(size);
    return wrong("index " + at + " is out of range of a list of " + length,
                 "array index out of bounds: index " + at + ", length " + length);
  }

  Status index(const Json& value, std::int64_t index, Values& into) const {
    if (value.is_null()) return {};
    if (!value.is_array()) return wrong("an index on something that is not a list", "the value is not an array or slice");
    const auto size = static_cast<std::int64_t>(value.size());
    const std::int64_t at = index < 0 ? index + size : index;
    if (at < 0 || at >= size) return out_of_bounds(index, value.size());
    into.push_back(&*(value.begin() + at));
    return {};
  }

  Status slice(const Json& value, const PathNode& node, Values& into, bool& on) const {
    if (value.is_null()) return {};
    if (!value.is_array()) return wrong("a slice of something that is not a list", "the value is not an array or slice");
    const auto size = static_cast<std::int64_t>(value.size());
    const auto from_begin = [size](std::int64_t at) { return at < 0 ? at + size : at; };
    const std::int64_t start = from_begin(node.start.value_or(0));
    const std::int64_t end = from_begin(node.end.value_or(size));
    if (strict_) {
      // In Kubernetes a slice of nothing is allowed anywhere, and ends the list of what is found.
      if (start == end) return on = false, Status{};
      if (start < 0 || start >= size) return out_of_bounds(start, value.size());
      if (end < 0 || end > size) return out_of_bounds(end - 1, value.size());
      if (start > end) return fail(Category::kInvalid, "the start of the slice is behind its end");
      if (node.step && *node.step <= 0) return fail(Category::kInvalid, "step must be > 0");
    }
    const std::int64_t step = std::min(node.step.value_or(1), size + 1);
    for (std::int64_t at = std::max<std::int64_t>(start, 0); at < std::min(end, size); at += step)
      into.push_back(&*(value.begin() + at));
    return {};
  }

  Status filter(const PathNode& node, const Json& value, Values& into) const {
    if (value.is_null() && !strict_) return {};
    if (!value.is_array())
      return wrong("a filter on something that is not a list", "the value is not an array or slice and cannot be filtered");
    for (const Json& item : value) {
      FLEETADM_TRY(const bool pass, passes(node, item));
      if (pass) into.push_back(&item);
    }
    return {};
  }

  Result<bool> passes(const PathNode& filter, const Json& item) const {
    const Result<Values> found = list(filter.parts[0], {&item});
    // In Kubernetes what cannot be looked at exists.
    if (!found && filter.text == "exists" && strict_) return true;
    FLEETADM_TRY(const Values left, found);
    if (filter.text == "exists") return !left.empty();
    if (strict_ && left.empty()) return false;
    FLEETADM_TRY(const Values right, list(filter.parts[1], {&item}));
    if (left.size() > 1 || right.size() > 1)
      return wrong("a filter compares one value with one value", "can only compare one element at a time");
    if (left.empty() || right.empty()) return false;
    if (strict_) return compare_strictly(*left.front(), filter.text, *right.front());
    return compare(*left.front(), filter.text, *right.front());
  }

  bool strict_;
};

// Walks a template. `text` gets literal text, `found` the values of one expression.
Status walk(const std::vector<PathNode>& nodes, const Json& root, const std::function<void(const std::string&)>& text,
            const std::function<void(const Values&)>& found) {
  for (const PathNode& node : nodes) {
    if (node.kind == Kind::kText) {
      text(node.text);
      continue;
    }
    if (node.kind == Kind::kRange) {
      FLEETADM_TRY(const Values items, Evaluator(false).list(node.parts.front(), {&root}));
      for (const Json* item : items) FLEETADM_CHECK(walk(node.body, *item, text, found));
      continue;
    }
    FLEETADM_TRY(const Values values, Evaluator(false).list(node, {&root}));
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

Result<std::vector<Json>> select_json_path(std::string_view path, const Json& object) {
  FLEETADM_TRY(const PathNode steps, parse_bare_path(path));
  FLEETADM_TRY(const Values found, Evaluator(true).list(steps, {&object}));
  std::vector<Json> values;
  values.reserve(found.size());
  for (const Json* value : found) values.push_back(*value);
  return values;
}

std::string plain_text(const Json& value) {
  if (const auto* text = value.get_ptr<const Json::string_t*>()) return *text;
  return value.is_null() ? std::string() : dump_json(value);
}

}  // namespace fleetadm
