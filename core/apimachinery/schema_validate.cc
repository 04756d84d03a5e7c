#include <algorithm>
#include <cmath>
#include <re2/re2.h>

#include "core/apimachinery/schema_node.h"
#include "core/cel/value.h"

namespace fleetadm::apimachinery {
namespace {

std::string at_index(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>() &&
         std::abs(value.get<double>()) < 9.2e18;
}

std::string type_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  return is_whole(value) ? "integer" : "number";
}

class Checker {
 public:
  Checker(Causes& causes, int depth) : causes_(causes), depth_(depth) {}

  void check(const SchemaNode& node, const Json& value, const Json* old, const std::string& path) {
    // What an update leaves as it is, is not blamed.
    if (old != nullptr && depth_ > 0 && *old == value) return;
    if (depth_ > kMaxJsonDepth) return;
    if (value.is_null() && node.nullable) return;
    if (!has_type(node, value)) {
      const std::string type = type_of(value);
      const std::string wanted = node.int_or_string ? "integer,string" : node.type;
      causes_.push_back(type_invalid(path.empty() && depth_ > 0 ? "<nil>" : path, type,
                                     said(path, "must be of type " + wanted + ": \"" + type + "\"")));
      return;
    }
    if (value.is_string()) text(node, value, path);
    if (value.is_number()) number(node, value, path);
    if (value.is_array()) list(node, value, old, path);
    if (value.is_object()) object(node, value, old, path);
    if (node.allowed) allowed(*node.allowed, value, path);
    junctors(node, value, path);
  }

 private:
  static std::string said(const std::string& path, const std::string& text) { return path + " in body " + text; }

  static bool has_type(const SchemaNode& node, const Json& value) {
    if (node.int_or_string) return value.is_string() || (value.is_number() && is_whole(value));
    if (node.type.empty()) return true;
    if (node.type == "number") return value.is_number();
    if (node.type == "integer") return value.is_number() && is_whole(value);
    return type_of(value) == node.type;
  }

  void text(const SchemaNode& node, const Json& value, const std::string& path) {
    const std::string& content = value.get_ref<const std::string&>();
    const auto length = static_cast<std::int64_t>(cel::code_points(content));
    if (node.max_length && length > *node.max_length) {
      causes_.push_back(too_long(path, *node.max_length));
      return;
    }
    if (node.min_length && length < *node.min_length) {
      causes_.push_back(
          bad_value(path, value, said(path, "should be at least " + std::to_string(*node.min_length) + " chars long")));
      return;
    }
    if (node.pattern != nullptr && !RE2::PartialMatch(content, *node.pattern)) {
      causes_.push_back(bad_value(path, value, said(path, "should match '" + node.pattern_text + "'")));
      return;
    }
    if (!node.format.empty() && !has_format(content, node.format)) {
      causes_.push_back(type_invalid(path, value, said(path, "must be of type " + node.format + ": " + dump_json(value))));
    }
  }

  void number(const SchemaNode& node, const Json& value, const std::string& path) {
    const double amount = value.get<double>();
    if (node.multiple_of) {
      // Whole values are divided by a whole factor, as upstream does.
      const double factor = value.is_number_integer() ? std::trunc(*node.multiple_of) : *node.multiple_of;
      if (factor <= 0) {
        causes_.push_back(
            bad_value(path, 0, "factor MultipleOf declared for " + path + " must be positive: " + format_number(factor)));
      } else if (std::abs(std::remainder(amount, factor)) > 1e-9 * std::max(1.0, std::abs(amount))) {
        causes_.push_back(bad_value(path, value, said(path, "should be a multiple of " + format_number(factor))));
      }
    }
    if (node.maximum && (node.exclusive_maximum ? amount >= *node.maximum : amount > *node.maximum)) {
      causes_.push_back(
          bad_value(path, value,
                    said(path, (node.exclusive_maximum ? "should be less than " : "should be less than or equal to ") +
                                   format_number(*node.maximum))));
    }
    if (node.minimum && (node.exclusive_minimum ? amount <= *node.minimum : amount < *node.minimum)) {
      causes_.push_back(
          bad_value(path, value,
                    said(path, (node.exclusive_minimum ? "should be greater than " : "should be greater than or equal to ") +
                                   format_number(*node.minimum))));
    }
    if (!node.format.empty() && (node.format == "int32" || node.format == "int64") && value.is_number_integer()) {
      const bool wide = node.format == "int64" || (amount >= -2147483648.0 && amount <= 2147483647.0);
      if (!wide) causes_.push_back(bad_value(path, value, "Checked value must be of type integer with format int32 in " + path));
    }
  }

  void list(const SchemaNode& node, const Json& value, const Json* old, const std::string& path) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (node.items != nullptr) {
      const OldElements before(node, old);
      for (std::size_t i = 0; i < value.size(); ++i) {
        deeper(*node.items, value[i], before.find(value[i]), at_index(path, i));
      }
    }
    if (node.min_items && size < *node.min_items) {
      causes_.push_back(bad_value(path, size, said(path, "should have at least " + std::to_string(*node.min_items) + " items")));
    }
    if (node.max_items && size > *node.max_items) causes_.push_back(too_many(path, size, *node.max_items));
  }

  void object(const SchemaNode& node, const Json& value, const Json* old, const std::string& path) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (node.min_properties && size < *node.min_properties) {
      causes_.push_back(
          bad_value(path, size, said(path, "should have at least " + std::to_string(*node.min_properties) + " properties")));
    }
    if (node.max_properties && size > *node.max_properties) causes_.push_back(too_many(path, size, *node.max_properties));
    for (const std::string& name : node.required) {
      if (!value.contains(name)) causes_.push_back(required(below(path, name)));
    }
    if (node.embedded) {
      for (const char* name : {"apiVersion", "kind"}) {
        const bool declared = std::find(node.required.begin(), node.required.end(), name) != node.required.end();
        if (!value.contains(name) && !declared) causes_.push_back(required(below(path, name)));
      }
    }
    for (const auto& [key, member] : value.items()) {
      const SchemaNode* child = node.property(key);
      if (child == nullptr) child = node.additional.get();
      if (child != nullptr) deeper(*child, member, old == nullptr ? nullptr : find(*old, {key}), below(path, key));
    }
  }

  void allowed(const Json& words, const Json& value, const std::string& path) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return;
    std::vector<std::string> supported;
    for (const Json& word : words) supported.push_back(word.is_string() ? word.get<std::string>() : dump_json(word));
    causes_.push_back(unsupported(path, value, supported));
  }

  void deeper(const SchemaNode& node, const Json& value, const Json* old, const std::string& path) {
    ++depth_;
    check(node, value, old, path);
    --depth_;
  }

  Causes of(const SchemaNode& node, const Json& value, const std::string& path) const {
    Causes found;
    Checker(found, depth_ + 1).check(node, value, nullptr, path);
    return found;
  }
  void take(Causes found) {
    causes_.insert(causes_.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  void blame(const std::string& path, const std::string& what) {
    causes_.push_back(bad_value("<nil>", "", "\"" + path + "\" must " + what));
  }

  void junctors(const SchemaNode& node, const Json& value, const std::string& path) {
    if (!node.any_of.empty()) {
      std::optional<Causes> best;
      bool fits = false;
      for (const SchemaNode& choice : node.any_of) {
        Causes found = of(choice, value, path);
        fits = fits || found.empty();
        if (!best) best = std::move(found);
      }
      if (!fits) {
        blame(path, "validate at least one schema (anyOf)");
        take(std::move(*best));
      }
    }
    if (!node.one_of.empty()) {
      std::optional<Causes> best;
      std::size_t fits = 0;
      for (const SchemaNode& choice : node.one_of) {
        Causes found = of(choice, value, path);
        fits += found.empty() ? 1 : 0;
        if (!best) best = std::move(found);
      }
      if (fits != 1) {
        blame(path, "validate one and only one schema (oneOf). Found " +
                        (fits == 0 ? std::string("none valid") : std::to_string(fits) + " valid alternatives"));
        if (fits == 0) take(std::move(*best));
      }
    }
    if (!node.all_of.empty()) {
      std::size_t fits = 0;
      for (const SchemaNode& choice : node.all_of) {
        Causes found = of(choice, value, path);
        fits += found.empty() ? 1 : 0;
        take(std::move(found));
      }
      if (fits != node.all_of.size())
        blame(path, fits == 0 ? "validate all the schemas (allOf). None validated" : "validate all the schemas (allOf)");
    }
    if (node.negated != nullptr && of(*node.negated, value, path).empty()) blame(path, "not validate the schema (not)");
  }

  Causes& causes_;
  int depth_;
};

/// The members that identify an element of a list map; absent ones are left out.
Json key_of(const SchemaNode& list, const Json& element) {
  Json key = Json::object();
  for (const std::string& name : list.keys) {
    if (const Json* value = find(element, {name})) key[name] = *value;
  }
  return key;
}

}  // namespace

OldElements::OldElements(const SchemaNode& list, const Json* old_list) : list_(list) {
  if (old_list == nullptr || !old_list->is_array() || list.list_type != ListType::kMap) return;
  for (const Json& element : *old_list) by_key_.emplace(dump_json(key_of(list, element)), &element);
}

const Json* OldElements::find(const Json& element) const {
  if (by_key_.empty()) return nullptr;
  const auto at = by_key_.find(dump_json(key_of(list_, element)));
  return at == by_key_.end() ? nullptr : at->second;
}

void validate_values(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, Causes& causes) {
  Checker(causes, 0).check(node, value, old, path);
}

void validate_lists(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, Causes& causes) {
  if (old != nullptr && *old == value) return;
  if (value.is_array()) {
    if (node.list_type != ListType::kAtomic) {
      std::map<std::string, int> seen;
      for (std::size_t i = 0; i < value.size(); ++i) {
        const Json identity = node.list_type == ListType::kSet ? value[i] : key_of(node, value[i]);
        if (++seen[dump_json(identity)] == 2) causes.push_back(duplicate(at_index(path, i), identity));
      }
    }
    if (node.items == nullptr) return;
    const OldElements before(node, old);
    for (std::size_t i = 0; i < value.size(); ++i) {
      validate_lists(*node.items, value[i], before.find(value[i]), at_index(path, i), causes);
    }
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const SchemaNode* child = node.property(key);
    if (child == nullptr) child = node.additional.get();
    if (child != nullptr) validate_lists(*child, member, old == nullptr ? nullptr : find(*old, {key}), below(path, key), causes);
  }
}

}  // namespace fleetadm::apimachinery
