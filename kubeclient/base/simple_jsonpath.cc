#include "kubeclient/base/simple_jsonpath.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace fleetadm {
namespace {

constexpr int kMaxPathDepth = 64;
constexpr std::size_t kMaxItems = 10'000;

struct PathStep;
using PathSteps = std::vector<PathStep>;

struct Operand {
  bool literal = false;
  Json value;       // of a literal
  PathSteps steps;  // of a path below @
};

struct PathStep {
  enum class Kind { kField, kSlice, kWildcard, kUnion, kFilter, kRecursive, kIdentifier };
  Kind kind = Kind::kField;
  std::string name;
  std::optional<std::int64_t> from;  // kSlice; an index is a slice of one
  std::optional<std::int64_t> to;
  std::int64_t step = 1;
  bool is_index = false;
  std::vector<PathSteps> parts;  // kUnion
  Operand left;                  // kFilter
  Operand right;
  std::string op;  // "exists" or a comparison
};

tl::unexpected<Error> bad(std::string message) { return fail(Category::kInvalid, std::move(message)); }

bool is_name_end(char c) { return c == '.' || c == '[' || c == ' ' || c == ']' || c == '}' || c == ',' || c == '\0'; }

/// The text inside the brackets that open before `at`, up to the matching one; quotes hide brackets.
std::optional<std::string> bracketed(std::string_view text, std::size_t& at) {
  int depth = 1;
  char quote = 0;
  const std::size_t start = at;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\') {
        ++at;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return std::string(text.substr(start, at++ - start));
    }
  }
  return std::nullopt;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Result<PathSteps> parse_steps(std::string_view text, int depth);

Result<Operand> parse_operand(std::string_view text, int depth) {
  Operand operand;
  text = trim(text);
  if (text.starts_with('@') || text.starts_with('$')) {
    FLEETADM_TRY(operand.steps, parse_steps(text.substr(1), depth + 1));
    return operand;
  }
  operand.literal = true;
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    operand.value = unescape(text.substr(1, text.size() - 2));
    return operand;
  }
  if (text == "true" || text == "false") {
    operand.value = text == "true";
    return operand;
  }
  Result<Json> number = parse_json(text);
  if (!number || !number->is_number()) return bad("unrecognized filter operand " + std::string(text));
  operand.value = std::move(*number);
  return operand;
}

Result<PathStep> parse_filter(std::string_view text, int depth) {
  PathStep step;
  step.kind = PathStep::Kind::kFilter;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (c != '=' && c != '!' && c != '<' && c != '>') continue;
    const std::size_t width = i + 1 < text.size() && text[i + 1] == '=' ? 2 : 1;
    step.op = std::string(text.substr(i, width));
    if (step.op == "=") step.op = "==";
    FLEETADM_TRY(step.left, parse_operand(text.substr(0, i), depth));
    FLEETADM_TRY(step.right, parse_operand(text.substr(i + width), depth));
    return step;
  }
  step.op = "exists";
  FLEETADM_TRY(step.left, parse_operand(text, depth));
  return step;
}

Result<PathStep> parse_slice(std::string_view text) {
  PathStep step;
  step.kind = PathStep::Kind::kSlice;
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ':') continue;
    parts.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  if (parts.size() > 3) return bad("invalid array index " + std::string(text));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() && parts.size() > 1) continue;
    const std::optional<std::int64_t> value = parse_integer(parts[i]);
    if (!value) return bad("invalid array index " + std::string(text));
    if (i == 0) step.from = *value;
    if (i == 1) step.to = *value;
    if (i == 2) step.step = *value;
  }
  step.is_index = parts.size() == 1;
  return step;
}

std::vector<std::string> split_union(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && c == ',') {
      parts.emplace_back();
      continue;
    }
    if (quote != 0 && c == '\\' && i + 1 < text.size()) {
      parts.back() += c;
      parts.back() += text[++i];
      continue;
    }
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    }
    parts.back() += c;
  }
  return parts;
}

Result<PathStep> parse_bracket(std::string_view text, int depth) {
  text = trim(text);
  if (text.starts_with("?(") && text.ends_with(')')) return parse_filter(text.substr(2, text.size() - 3), depth);
  const std::vector<std::string> parts = split_union(text);
  if (parts.size() > 1) {
    PathStep step;
    step.kind = PathStep::Kind::kUnion;
    for (const std::string& part : parts) {
      FLEETADM_TRY(PathStep one, parse_bracket(part, depth + 1));
      step.parts.push_back({std::move(one)});
    }
    return step;
  }
  PathStep step;
  if (text == "*") {
    step.kind = PathStep::Kind::kWildcard;
    return step;
  }
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
    step.name = unescape(text.substr(1, text.size() - 2));
    return step;
  }
  return parse_slice(text);
}

Result<PathSteps> parse_steps(std::string_view text, int depth) {
  if (depth > kMaxPathDepth) return bad("the path is nested too deeply");
  PathSteps steps;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '[') {
      ++at;
      const std::optional<std::string> inner = bracketed(text, at);
      if (!inner) return bad("unterminated array");
      FLEETADM_TRY(PathStep step, parse_bracket(*inner, depth + 1));
      steps.push_back(std::move(step));
    } else if (c == '.' && at + 1 < text.size() && text[at + 1] == '.') {
      PathStep step;
      step.kind = PathStep::Kind::kRecursive;
      steps.push_back(std::move(step));
      at += 1;
      if (at + 1 < text.size() && text[at + 1] == '[') ++at;
    } else if (c == '.') {
      ++at;
      std::string name;
      while (at < text.size() && !is_name_end(text[at])) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        name += text[at++];
      }
      if (name.empty() && at >= text.size()) break;
      PathStep step;
      if (name == "*") {
        step.kind = PathStep::Kind::kWildcard;
      } else {
        step.name = std::move(name);
      }
      if (step.kind == PathStep::Kind::kWildcard || !step.name.empty()) steps.push_back(std::move(step));
    } else if (c == ' ') {
      ++at;
    } else if (c == '$' || c == '@') {
      ++at;
    } else {
      PathStep step;
      step.kind = PathStep::Kind::kIdentifier;
      while (at < text.size() && !is_name_end(text[at])) step.name += text[at++];
      if (step.name.empty()) return bad("unrecognized character in the path: " + std::string(1, c));
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

using Items = std::vector<const Json*>;

Status select(const PathSteps& steps, const Json& root, Items& items, int depth);

std::optional<int> compare(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_number_integer() && b.is_number_integer()) {
      const auto x = a.get<std::int64_t>();
      const auto y = b.get<std::int64_t>();
      return x < y ? -1 : x > y ? 1 : 0;
    }
    const double x = a.get<double>();
    const double y = b.get<double>();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.is_string() && b.is_string()) {
    const int order = a.get_ref<const std::string&>().compare(b.get_ref<const std::string&>());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.is_boolean() && b.is_boolean()) return a == b ? 0 : 1;
  return std::nullopt;
}

bool holds(const std::string& op, const Json& a, const Json& b) {
  const std::optional<int> order = compare(a, b);
  if (!order) return op == "!=";
  if (op == "==") return *order == 0;
  if (op == "!=") return *order != 0;
  if (op == "<") return *order < 0;
  if (op == "<=") return *order <= 0;
  if (op == ">") return *order > 0;
  if (op == ">=") return *order >= 0;
  return false;
}

Result<bool> passes(const PathStep& filter, const Json& item, const Json& root, int depth) {
  const auto values = [&](const Operand& operand) -> Result<Items> {
    Items items;
    if (operand.literal) {
      items.push_back(&operand.value);
      return items;
    }
    items.push_back(&item);
    FLEETADM_CHECK(select(operand.steps, root, items, depth + 1));
    return items;
  };
  FLEETADM_TRY(const Items left, values(filter.left));
  if (filter.op == "exists") return !left.empty();
  if (left.size() > 1) return bad("can only compare one element at a time");
  FLEETADM_TRY(const Items right, values(filter.right));
  if (right.size() > 1) return bad("can only compare one element at a time");
  if (left.empty() || right.empty()) return false;
  return holds(filter.op, *left.front(), *right.front());
}

Status select_slice(const PathStep& step, const Json& item, Items& out) {
  if (!item.is_array()) {
    if (item.is_null()) return {};
    return bad("the value is not an array or slice");
  }
  const auto length = static_cast<std::int64_t>(item.size());
  std::int64_t from = step.from.value_or(0);
  if (from < 0) from += length;
  if (step.is_index) {
    if (from < 0 || from >= length) {
      return bad("array index out of bounds: index " + std::to_string(step.from.value_or(0)) + ", length " +
                 std::to_string(length));
    }
    out.push_back(&item[static_cast<std::size_t>(from)]);
    return {};
  }
  std::int64_t to = step.to.value_or(length);
  if (to < 0) to += length;
  to = std::min(to, length);
  if (step.from && (from < 0 || from >= length)) {
    return bad("array index out of bounds: index " + std::to_string(*step.from) + ", length " + std::to_string(length));
  }
  if (step.to && to < 0) return bad("array index out of bounds: index " + std::to_string(*step.to));
  if (step.step <= 0) return bad("the step of a slice must be positive");
  if (from > to) return bad("the start of the slice is behind its end");
  for (std::int64_t i = from; i < to; i += step.step) out.push_back(&item[static_cast<std::size_t>(i)]);
  return {};
}

void descend(const Json& item, Items& out, int depth) {
  if (depth > kMaxJsonDepth || out.size() > kMaxItems || !item.is_structured()) return;
  out.push_back(&item);
  for (const Json& child : item) descend(child, out, depth + 1);
}

Status apply_step(const PathStep& step, const Json& item, const Json& root, Items& out, int depth) {
  switch (step.kind) {
    case PathStep::Kind::kField:
      if (item.is_object()) {
        if (const auto found = item.find(step.name); found != item.end()) out.push_back(&*found);
      }
      return {};
    case PathStep::Kind::kSlice: return select_slice(step, item, out);
    case PathStep::Kind::kWildcard:
      if (item.is_structured()) {
        for (const Json& child : item) out.push_back(&child);
      }
      return {};
    case PathStep::Kind::kUnion:
      for (const PathSteps& part : step.parts) {
        Items items{&item};
        FLEETADM_CHECK(select(part, root, items, depth + 1));
        out.insert(out.end(), items.begin(), items.end());
      }
      return {};
    case PathStep::Kind::kFilter:
      if (!item.is_array()) {
        if (item.is_null()) return {};
        return bad("the value is not an array or slice and cannot be filtered");
      }
      for (const Json& child : item) {
        FLEETADM_TRY(const bool ok, passes(step, child, root, depth));
        if (ok) out.push_back(&child);
      }
      return {};
    case PathStep::Kind::kRecursive: descend(item, out, 0); return {};
    case PathStep::Kind::kIdentifier: return bad("unrecognized identifier " + step.name);
  }
  return {};
}

Status select(const PathSteps& steps, const Json& root, Items& items, int depth) {
  if (depth > kMaxPathDepth) return bad("the path is nested too deeply");
  for (const PathStep& step : steps) {
    Items next;
    for (const Json* item : items) FLEETADM_CHECK(apply_step(step, *item, root, next, depth));
    if (next.size() > kMaxItems) return bad("the path selects too many values");
    items = std::move(next);
  }
  return {};
}

}  // namespace

Result<std::vector<Json>> select_json_path(std::string_view path, const Json& object) {
  FLEETADM_TRY(const PathSteps steps, parse_steps(path, 0));
  Items items{&object};
  FLEETADM_CHECK(select(steps, object, items, 0));
  std::vector<Json> values;
  values.reserve(items.size());
  for (const Json* item : items) values.push_back(*item);
  return values;
}

}  // namespace fleetadm
