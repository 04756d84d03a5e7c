// One node of a compiled schema; private to structural*.cc and schema_*.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/apimachinery/structural.h"
#include "core/cel/env.h"

namespace re2 {
class RE2;
}

namespace fleetadm::apimachinery {

struct SchemaRule {
  std::string rule;
  std::string message;
  std::string reason;      // "FieldValueInvalid" where not said
  std::string field_path;  // ".fp.x"; empty: the node itself
  bool optional_old = false;
  bool transition = false;  // reads oldSelf
  std::optional<cel::Program> program;
  std::optional<cel::Program> message_program;
};

struct SchemaNode {
  std::string type;  // empty: any (int-or-string, or unknown fields preserved)
  std::string format;
  bool nullable = false;
  bool preserve_unknown = false;
  bool embedded = false;
  bool int_or_string = false;
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> keys;
  bool map_atomic = false;
  std::optional<Json> default_value;

  std::map<std::string, SchemaNode, std::less<>> properties;
  std::unique_ptr<SchemaNode> items;
  std::unique_ptr<SchemaNode> additional;
  bool additional_any = false;  // additionalProperties: true

  std::vector<std::string> required;
  std::optional<Json> allowed;  // enum
  std::shared_ptr<const re2::RE2> pattern;
  std::string pattern_text;
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  bool unique_items = false;
  std::vector<SchemaNode> all_of, any_of, one_of;
  std::unique_ptr<SchemaNode> negated;
  std::vector<SchemaRule> rules;
  bool plain = true;  // rules may see the JSON as it is: no member needs another type or name

  // The shape for server-side apply.
  TypeNode shape;
  StructType shape_fields;

  const SchemaNode* property(std::string_view name) const {
    const auto at = properties.find(name);
    return at == properties.end() ? nullptr : &at->second;
  }
};

/// Sets `plain` of a node whose children have theirs.
void mark_plain(SchemaNode& node);
/// The form of a value of the node (schema_shape.cc); of its children before it. `root`: the whole object.
void make_shape(SchemaNode& node, bool root);
/// What the rules of a schema may cost in all.
struct RuleCosts {
  /// How often the node that is compiled occurs in an object; nullopt: there is no limit but the size of a request.
  std::optional<std::uint64_t> occurrences = 1;
  std::uint64_t total = 0;
  std::vector<std::pair<std::uint64_t, std::string>> dearest;  // with their fields

  void add(const std::string& field, std::uint64_t cost);
  /// Appends what is wrong with the whole.
  void report(const std::string& schema_field, Causes& causes) const;
};
/// Compiles the rules of a node (which has its type and properties) into `into`; what is wrong is appended to `causes`.
/// `resource`: the node is the whole object.
void compile_rules(const Json& rules, const std::string& field, bool resource, SchemaNode& into, RuleCosts& costs,
                   Causes& causes);
/// Runs the rules below and at a node. `old` may be nullptr; `budget` is what the object may still cost.
void run_rules(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, std::uint64_t& budget,
               Causes& causes);
/// The elements of a list's old value, by what identifies them; knows none of lists that are no list maps.
class OldElements {
 public:
  OldElements(const SchemaNode& list, const Json* old_list);
  /// The old element that `element` stands for; nullptr where there is none.
  const Json* find(const Json& element) const;

 private:
  const SchemaNode& list_;
  std::map<std::string, const Json*> by_key_;
};

/// Whether a text has a format that is checked; formats that are not known accept everything.
bool has_format(std::string_view text, std::string_view format);

/// Checks values against a node: types, bounds, patterns; not uniqueness, not rules.
void validate_values(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, Causes& causes);
/// list-type set and map.
void validate_lists(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, Causes& causes);

/// A member's path for messages: "spec.replicas".
inline std::string below(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

}  // namespace fleetadm::apimachinery
