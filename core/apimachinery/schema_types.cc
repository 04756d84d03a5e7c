#include "core/apimachinery/schema_types.h"

#include <algorithm>
#include <array>

namespace fleetadm::apimachinery {
namespace {

constexpr std::uint64_t kMaxRequest = 3U << 20U;
// Lengths of JSON texts, quotes included.
constexpr std::uint64_t kMaxDuration = 32;
constexpr std::uint64_t kMinDuration = 3;
constexpr std::uint64_t kDate = 12;
constexpr std::uint64_t kMaxTime = 32;
constexpr std::uint64_t kMinTime = 21;
constexpr std::uint64_t kBytesOfCharacter = 4;

bool holds_map(const SchemaNode& node) { return node.type == "object" && node.additional != nullptr; }

/// Whether rules can name a value of it.
bool has_type(const SchemaNode& node) {
  if (node.int_or_string) return true;
  if (node.type == "array") return node.items != nullptr && has_type(*node.items);
  if (holds_map(node)) return has_type(*node.additional);
  return !node.type.empty();
}

class Declarer {
 public:
  cel::Type declare(const SchemaNode& node, const std::string& name, bool resource) {
    if (node.int_or_string) return cel::Type::dyn();
    if (node.type == "array")
      return cel::Type::list(has_type(node) ? declare(*node.items, name + ".@idx", false) : cel::Type::dyn());
    if (holds_map(node) && !resource) {
      const bool typed = has_type(node);
      return cel::Type::map(cel::Type::string(), typed ? declare(*node.additional, name + ".@elem", false) : cel::Type::dyn());
    }
    if (node.type == "object") return declare_object(node, name, resource || node.embedded);
    if (node.type == "string") return declare_text(node.format);
    if (node.type == "integer") return cel::Type::integer();
    if (node.type == "number") return cel::Type::real();
    if (node.type == "boolean") return cel::Type::boolean();
    return cel::Type::dyn();
  }

  std::vector<cel::Struct> structs;

 private:
  static cel::Type declare_text(const std::string& format) {
    if (format == "byte") return cel::Type::bytes();
    if (format == "duration") return cel::Type::duration();
    if (format == "date" || format == "date-time") return cel::Type::timestamp();
    return cel::Type::string();
  }

  cel::Type declare_object(const SchemaNode& node, const std::string& name, bool resource) {
    cel::Struct made{name, {}};
    if (resource) {
      const cel::Type text = cel::Type::string();
      structs.push_back({name + ".metadata", {{"name", text}, {"generateName", text}}});
      made.fields = {{"apiVersion", text}, {"kind", text}, {"metadata", cel::Type::opaque(name + ".metadata")}};
    }
    for (const auto& [key, property] : node.properties) {
      const bool implied = resource && (key == "apiVersion" || key == "kind" || key == "metadata");
      const std::string field = rule_name(key);
      if (implied || field.empty() || !has_type(property)) continue;
      made.fields.push_back({field, declare(property, name + "." + field, false)});
    }
    structs.push_back(std::move(made));
    return cel::Type::opaque(name);
  }
};

/// The shortest JSON text of a value.
std::uint64_t min_text(const SchemaNode& node) {
  if (node.int_or_string || node.type == "integer" || node.type == "number") return 1;
  if (node.type == "boolean") return 4;
  if (node.type == "string") {
    if (node.format == "duration") return kMinDuration;
    if (node.format == "date") return kDate;
    return node.format == "date-time" ? kMinTime : 2;
  }
  if (node.type != "object" || holds_map(node)) return 2;
  std::uint64_t size = 2;
  for (const std::string& key : node.required) {
    const SchemaNode* property = node.property(key);
    if (property != nullptr && has_type(*property) && !property->default_value) size += key.size() + min_text(*property) + 4;
  }
  return size;
}

std::uint64_t not_negative(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

std::uint64_t max_text(const SchemaNode& node) {
  if (node.format == "duration") return kMaxDuration;
  if (node.format == "date") return kDate;
  if (node.format == "date-time") return kMaxTime;
  if (node.max_length) return not_negative(*node.max_length) * (node.format == "byte" ? 1 : kBytesOfCharacter);
  if (node.format == "byte" || !node.allowed) return kMaxRequest - 2;
  std::size_t longest = 0;
  for (const Json& one : *node.allowed) {
    if (one.is_string()) longest = std::max(longest, one.get_ref<const std::string&>().size());
  }
  return longest;
}

std::uint64_t max_size(const SchemaNode& node) {
  if (node.int_or_string) return kMaxRequest - 2;
  if (node.type == "string") return max_text(node);
  if (const auto limit = declared_limit(node)) return *limit;
  if (node.type == "array" && node.items != nullptr) return (kMaxRequest - 2) / (min_text(*node.items) + 1);
  if (holds_map(node)) return (kMaxRequest - 2) / (min_text(*node.additional) + 6);
  return 0;
}

const SchemaNode* property_in_rules(const SchemaNode& node, const std::string& name) {
  for (const auto& [key, property] : node.properties) {
    if (rule_name(key) == name) return has_type(property) ? &property : nullptr;
  }
  return nullptr;
}

}  // namespace

std::string rule_name(const std::string& property) {
  static constexpr std::array<std::string_view, 21> kWords = {
      "true", "false",  "null", "in",   "as",      "break",     "const",  "continue", "else", "for",  "function",
      "if",   "import", "let",  "loop", "package", "namespace", "return", "var",      "void", "while"};
  if (std::find(kWords.begin(), kWords.end(), property) != kWords.end()) return "__" + property + "__";
  std::string text;
  for (std::size_t i = 0; i < property.size(); ++i) {
    const char c = property[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (property.compare(i, 2, "__") == 0) {
      text += "__underscores__";
      ++i;
    } else if (c == '.') {
      text += "__dot__";
    } else if (c == '-') {
      text += "__dash__";
    } else if (c == '/') {
      text += "__slash__";
    } else if (letter || (i > 0 && c >= '0' && c <= '9')) {
      text += c;
    } else {
      return {};
    }
  }
  return text;
}

DeclaredTypes declare_types(const SchemaNode& node, bool resource, const std::string& name) {
  Declarer declarer;
  cel::Type self = declarer.declare(node, name, resource);
  return {std::move(self), std::move(declarer.structs)};
}

std::optional<std::uint64_t> max_size_at(const SchemaNode& self, std::span<const std::string> path) {
  const SchemaNode* at = &self;
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (path[i] == "@keys") return i + 1 == path.size() && holds_map(*at) ? std::optional<std::uint64_t>(0) : std::nullopt;
    if (path[i] == "@items" || path[i] == "@values") {
      at = at->type == "array" ? at->items.get() : at->additional.get();
    } else {
      at = property_in_rules(*at, path[i]);
    }
    if (at == nullptr) return std::nullopt;
  }
  return max_size(*at);
}

std::uint64_t max_occurrences(const SchemaNode& node) { return kMaxRequest / (min_text(node) + 1); }

std::optional<std::uint64_t> declared_limit(const SchemaNode& list_or_map) {
  const auto& limit = list_or_map.type == "array" ? list_or_map.max_items : list_or_map.max_properties;
  const bool holds = list_or_map.type == "array" || holds_map(list_or_map);
  return holds && limit ? std::optional(not_negative(*limit)) : std::nullopt;
}

}  // namespace fleetadm::apimachinery
