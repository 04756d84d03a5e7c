#include <algorithm>
#include <array>
#include <re2/re2.h>
#include <set>

#include "core/apimachinery/schema_node.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::array<std::string_view, 6> kTypes{"array", "boolean", "integer", "number", "object", "string"};

class Compiler {
 public:
  explicit Compiler(Causes& causes) : causes_(causes) {}

  void compile_root(const Json& schema, const std::string& field, SchemaNode& node) {
    compile(schema, field, node, false, true);
    costs_.report(field, causes_);
  }

  /// `inside`: below allOf and friends, where only values may be restricted. `root`: the whole object.
  void compile(const Json& schema, const std::string& field, SchemaNode& node, bool inside, bool root) {
    if (!schema.is_object()) return;
    if (++nodes_ > kMaxSchemaNodes) {
      if (nodes_ == kMaxSchemaNodes + 1) causes_.push_back(invalid_without_value(field, "the schema has too many nodes"));
      return;
    }
    forbid(schema, field, inside);
    read_type(schema, field, node, inside, root);
    read_values(schema, field, node);
    read_lists(schema, field, node, inside);
    read_junctors(schema, field, node);
    read_children(schema, field, node, inside, root);
    mark_plain(node);
    if (!inside) {
      if (const Json* value = find(schema, {"default"}); value != nullptr && !root) {
        node.default_value = *value;
        check_default(*value, field, node);
      }
      check_junctors_declare(field, node);
      if (const Json* rules = find(schema, {"x-kubernetes-validations"}); rules != nullptr && rules->is_array()) {
        compile_rules(*rules, field + ".x-kubernetes-validations", root, node, costs_, causes_);
      }
      make_shape(node, root);
    }
  }

 private:
  void forbid(const Json& schema, const std::string& field, bool inside) {
    for (const std::string_view word : {"definitions", "dependencies", "patternProperties", "additionalItems", "id", "$ref"}) {
      if (schema.contains(word))
        causes_.push_back(forbidden_field(field + "." + std::string(word), std::string(word) + " is not supported"));
    }
    if (flag(schema, {"uniqueItems"})) {
      causes_.push_back(forbidden_field(field + ".uniqueItems",
                                        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
    }
    if (!inside) return;
    for (const std::string_view word : {"type", "default", "nullable", "description", "title", "additionalProperties"}) {
      const Json* given = find(schema, {word});
      if (given == nullptr || (given->is_boolean() && !given->get<bool>()) ||
          (given->is_string() && given->get_ref<const std::string&>().empty())) {
        continue;
      }
      if (word == "type" && int_or_string_) continue;
      causes_.push_back(forbidden_field(field + "." + std::string(word), "must be empty to be structural"));
    }
    for (const auto& [key, value] : schema.items()) {
      if (key.starts_with("x-kubernetes-"))
        causes_.push_back(forbidden_field(field + "." + key, "must be empty to be structural"));
    }
  }

  void read_type(const Json& schema, const std::string& field, SchemaNode& node, bool inside, bool root) {
    node.type = str(schema, {"type"});
    node.format = str(schema, {"format"});
    node.nullable = flag(schema, {"nullable"});
    node.preserve_unknown = flag(schema, {"x-kubernetes-preserve-unknown-fields"});
    node.embedded = flag(schema, {"x-kubernetes-embedded-resource"});
    node.int_or_string = flag(schema, {"x-kubernetes-int-or-string"});
    if (!node.type.empty() && std::find(kTypes.begin(), kTypes.end(), node.type) == kTypes.end()) {
      causes_.push_back(unsupported(field + ".type", node.type, {kTypes.begin(), kTypes.end()}));
    }
    if (inside) return;
    if (root && node.type.empty()) causes_.push_back(required(field + ".type", "must not be empty at the root"));
    if (root && !node.type.empty() && node.type != "object") {
      causes_.push_back(bad_value(field + ".type", node.type, "must be object at the root"));
    }
    if (!root && node.type.empty() && !node.int_or_string && !node.preserve_unknown) {
      const bool item = field.ends_with(".items") || field.ends_with(".additionalProperties");
      causes_.push_back(required(field + ".type", item ? "must not be empty for specified array items"
                                                       : "must not be empty for specified object fields"));
    }
    if (node.embedded && node.type != "object") {
      causes_.push_back(bad_value(field + ".type", node.type, "must be object if x-kubernetes-embedded-resource is true"));
    }
    if (node.embedded && !node.preserve_unknown && !schema.contains("properties")) {
      causes_.push_back(
          required(field + ".properties",
                   "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"));
    }
    if (node.int_or_string && !node.type.empty()) {
      causes_.push_back(bad_value(field + ".type", node.type, "must be empty if x-kubernetes-int-or-string is true"));
    }
    if (root || node.embedded) check_metadata(schema, field);
  }

  void check_metadata(const Json& schema, const std::string& field) {
    const Json* metadata = find(schema, {"properties", "metadata"});
    if (metadata == nullptr) return;
    bool only_names = true;
    for (const auto& [key, value] : object_at(*metadata, {"properties"}).items())
      only_names = only_names && (key == "name" || key == "generateName");
    for (const auto& [key, value] : metadata->items()) {
      only_names = only_names && (key == "type" || key == "properties" || key == "description");
    }
    if (!only_names) {
      causes_.push_back(
          forbidden_field(field + ".properties[metadata]",
                          "must not specify anything other than name and generateName, but metadata is implicitly specified"));
    }
  }

  void read_values(const Json& schema, const std::string& field, SchemaNode& node) {
    const auto number = [&](std::string_view name) -> std::optional<double> {
      const Json* value = find(schema, {name});
      return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
    };
    const auto integer = [&](std::string_view name) -> std::optional<std::int64_t> {
      const Json* value = find(schema, {name});
      return value != nullptr && value->is_number_integer() ? std::optional(num(schema, {name})) : std::nullopt;
    };
    node.minimum = number("minimum");
    node.maximum = number("maximum");
    node.multiple_of = number("multipleOf");
    node.exclusive_minimum = flag(schema, {"exclusiveMinimum"});
    node.exclusive_maximum = flag(schema, {"exclusiveMaximum"});
    node.min_length = integer("minLength");
    node.max_length = integer("maxLength");
    node.min_items = integer("minItems");
    node.max_items = integer("maxItems");
    node.min_properties = integer("minProperties");
    node.max_properties = integer("maxProperties");
    node.required = string_list_at(schema, {"required"});
    if (const Json* allowed = find(schema, {"enum"}); allowed != nullptr && allowed->is_array()) node.allowed = *allowed;
    node.pattern_text = str(schema, {"pattern"});
    if (node.pattern_text.empty()) return;
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(8 << 20);
    auto pattern = std::make_shared<const RE2>(node.pattern_text, options);
    if (pattern->ok()) {
      node.pattern = std::move(pattern);
    } else {
      causes_.push_back(bad_value(field + ".pattern", node.pattern_text,
                                  "must be a valid regular expression, but isn't: error parsing regexp: " + pattern->error()));
    }
  }

  void read_lists(const Json& schema, const std::string& field, SchemaNode& node, bool inside) {
    if (inside) return;
    const std::string list_type = str(schema, {"x-kubernetes-list-type"});
    node.keys = string_list_at(schema, {"x-kubernetes-list-map-keys"});
    node.map_atomic = str(schema, {"x-kubernetes-map-type"}) == "atomic";
    if (!list_type.empty() && node.type != "array") {
      causes_.push_back(bad_value(field + ".type", node.type, "must be array if x-kubernetes-list-type is specified"));
    }
    if (list_type == "set") node.list_type = ListType::kSet;
    if (list_type == "map") node.list_type = ListType::kMap;
    if (!list_type.empty() && list_type != "atomic" && list_type != "set" && list_type != "map") {
      causes_.push_back(unsupported(field + ".x-kubernetes-list-type", list_type, {"atomic", "map", "set"}));
    }
    if (const std::string map_type = str(schema, {"x-kubernetes-map-type"});
        !map_type.empty() && map_type != "atomic" && map_type != "granular") {
      causes_.push_back(unsupported(field + ".x-kubernetes-map-type", map_type, {"atomic", "granular"}));
    }
    const std::string keys_field = field + ".x-kubernetes-list-map-keys";
    if (node.list_type == ListType::kMap && node.keys.empty()) {
      causes_.push_back(required(keys_field, "must not be empty if x-kubernetes-list-type is map"));
    }
    if (node.list_type != ListType::kMap) return;
    const Json& items = object_at(schema, {"items"});
    const std::vector<std::string> needed = string_list_at(items, {"required"});
    for (const std::string& key : node.keys) {
      const Json* property = find(items, {"properties", key});
      if (property == nullptr) {
        causes_.push_back(bad_value(keys_field + "[0]", key, "entries must all be names of item properties"));
      } else if (std::find(needed.begin(), needed.end(), key) == needed.end() && !property->contains("default")) {
        causes_.push_back(
            required(field + ".items.properties[" + key + "].default",
                     "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"));
      }
    }
  }

  void read_junctors(const Json& schema, const std::string& field, SchemaNode& node) {
    const bool outer = std::exchange(int_or_string_, node.int_or_string);
    const auto read = [&](std::string_view word, std::vector<SchemaNode>& into) {
      const Json& list = list_at(schema, {word});
      into.resize(list.size());
      for (std::size_t i = 0; i < list.size(); ++i) {
        compile(list[i], field + "." + std::string(word) + "[" + std::to_string(i) + "]", into[i], true, false);
      }
    };
    read("allOf", node.all_of);
    read("anyOf", node.any_of);
    read("oneOf", node.one_of);
    if (const Json* negated = find(schema, {"not"}); negated != nullptr) {
      node.negated = std::make_unique<SchemaNode>();
      compile(*negated, field + ".not", *node.negated, true, false);
    }
    int_or_string_ = outer;
  }

  void read_children(const Json& schema, const std::string& field, SchemaNode& node, bool inside, bool root) {
    const bool outer = std::exchange(int_or_string_, false);
    for (const auto& [key, property] : object_at(schema, {"properties"}).items()) {
      if (root && (key == "metadata" || key == "apiVersion" || key == "kind") && !inside) {
        // Implied; what it says of names is still checked.
        Causes ignored;
        std::swap(ignored, causes_);
        compile(property, field, node.properties[key], true, false);
        std::swap(ignored, causes_);
        continue;
      }
      compile(property, field + ".properties[" + key + "]", node.properties[key], inside, false);
    }
    const Json* additional = find(schema, {"additionalProperties"});
    if (additional != nullptr && !inside) {
      if (additional->is_boolean()) {
        node.additional_any = additional->get<bool>();
      } else {
        node.additional = std::make_unique<SchemaNode>();
        const auto outside = enter(node);
        compile(*additional, field + ".additionalProperties", *node.additional, inside, false);
        costs_.occurrences = outside;
      }
      if (root) {
        causes_.push_back(forbidden_field(field + ".additionalProperties", "must not be used at the root"));
      } else if (!object_at(schema, {"properties"}).empty() && !node.additional_any) {
        causes_.push_back(
            forbidden_field(field + ".additionalProperties", "additionalProperties and properties are mutual exclusive"));
      }
    }
    const Json* items = find(schema, {"items"});
    if (items != nullptr && items->is_object()) {
      node.items = std::make_unique<SchemaNode>();
      const auto outside = enter(node);
      compile(*items, field + ".items", *node.items, inside, false);
      costs_.occurrences = outside;
    } else if (items != nullptr) {
      causes_.push_back(forbidden_field(field + ".items", "items must be a schema object and not an array"));
    } else if (node.type == "array" && !inside) {
      causes_.push_back(required(field + ".items", "must be specified"));
    }
    int_or_string_ = outer;
  }

  /// Of what the list or map holds there are as many as it may hold. Answers how many there are of itself.
  std::optional<std::uint64_t> enter(const SchemaNode& list_or_map) {
    const auto outside = costs_.occurrences;
    const auto limit = list_or_map.type == "array" ? list_or_map.max_items : list_or_map.max_properties;
    if (!limit || *limit < 0) {
      costs_.occurrences.reset();
    } else if (outside) {
      std::uint64_t product = 0;
      const bool overflow = __builtin_mul_overflow(*outside, static_cast<std::uint64_t>(*limit), &product);
      costs_.occurrences = overflow ? UINT64_MAX : product;
    }
    return outside;
  }

  /// Fields that allOf and friends name must be declared outside, too.
  void check_junctors_declare(const std::string& field, const SchemaNode& node) {
    for (const auto& [list, word] :
         {std::pair(&node.all_of, "allOf"), std::pair(&node.any_of, "anyOf"), std::pair(&node.one_of, "oneOf")}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        check_declared((*list)[i], node, field + "." + word + "[" + std::to_string(i) + "]", field);
      }
    }
    if (node.negated != nullptr) check_declared(*node.negated, node, field + ".not", field);
  }

  void check_declared(const SchemaNode& inner, const SchemaNode& outer, const std::string& inner_path, const std::string& path) {
    for (const auto& [key, property] : inner.properties) {
      const std::string below = ".properties[" + key + "]";
      const SchemaNode* declared = outer.property(key);
      if (declared == nullptr) {
        causes_.push_back(required(path + below, "because it is defined in " + inner_path + below));
      } else {
        check_declared(property, *declared, inner_path + below, path + below);
      }
    }
    if (inner.items == nullptr) return;
    if (outer.items == nullptr) {
      causes_.push_back(required(path + ".items", "because it is defined in " + inner_path + ".items"));
    } else {
      check_declared(*inner.items, *outer.items, inner_path + ".items", path + ".items");
    }
  }

  void check_default(const Json& value, const std::string& field, const SchemaNode& node) {
    if (value.is_null() && node.nullable) return;
    Causes found;
    validate_values(node, value, nullptr, "", found);
    for (Cause& cause : found) {
      cause.field = field + ".default" + (cause.field.empty() || cause.field == "<nil>" ? "" : "." + cause.field);
      causes_.push_back(std::move(cause));
    }
  }

  Causes& causes_;
  RuleCosts costs_;
  std::size_t nodes_ = 0;
  bool int_or_string_ = false;  // the anyOf of an int-or-string names types
};

bool any_rules(const SchemaNode& node) {
  if (!node.rules.empty()) return true;
  if (node.items != nullptr && any_rules(*node.items)) return true;
  if (node.additional != nullptr && any_rules(*node.additional)) return true;
  return std::any_of(node.properties.begin(), node.properties.end(), [](const auto& entry) { return any_rules(entry.second); });
}

}  // namespace

Structural::Structural() : root_(std::make_unique<SchemaNode>()) {}
Structural::~Structural() = default;

tl::expected<std::shared_ptr<const Structural>, Causes> Structural::compile(const Json& schema, const std::string& field) {
  Causes causes;
  std::shared_ptr<Structural> made(new Structural());
  Compiler(causes).compile_root(schema, field, *made->root_);
  if (!causes.empty()) return tl::unexpected(std::move(causes));
  made->has_rules_ = any_rules(*made->root_);
  return made;
}

Causes structural_violations(const Json& schema, const std::string& field) {
  auto compiled = Structural::compile(schema, field);
  return compiled ? Causes() : std::move(compiled).error();
}

const TypeNode& Structural::type() const { return root_->shape; }

Causes Structural::validate(const Json& object, const Json* old, bool only_status) const {
  Causes causes;
  if (only_status) {
    const SchemaNode* status = root_->property("status");
    const Json* value = find(object, {"status"});
    const Json* old_value = old == nullptr ? nullptr : find(*old, {"status"});
    if (status != nullptr && value != nullptr) {
      validate_values(*status, *value, old_value, "status", causes);
      validate_lists(*status, *value, old_value, "status", causes);
    }
  } else {
    validate_values(*root_, object, old, "", causes);
    validate_lists(*root_, object, old, "", causes);
  }
  if (!has_rules_) return causes;
  const bool blocked = std::any_of(causes.begin(), causes.end(), [](const Cause& cause) {
    return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueNotSupported" ||
           cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" || cause.reason == "FieldValueTypeInvalid";
  });
  if (blocked) {
    causes.push_back(
        bad_value("<nil>", nullptr,
                  "some validation rules were not checked because the object was invalid; correct the existing errors to "
                  "complete validation"));
    return causes;
  }
  std::uint64_t budget = cel::kObjectCostBudget;
  run_rules(*root_, object, old, "", budget, causes);
  return causes;
}

}  // namespace fleetadm::apimachinery
