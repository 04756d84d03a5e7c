#include "core/apimachinery/typed.h"

#include <algorithm>
#include <optional>
#include <set>

namespace fleetadm::apimachinery {
namespace {

const TypeNode& anything() {
  static const TypeNode kAnything;
  return kAnything;
}

enum class Shape { kLeaf, kObject, kElements };

/// How a place is owned: as a whole, by its members, or by its elements.
Shape shape_of(const TypeNode& type, const Json& value) {
  switch (type.form) {
    case Form::kStruct: return type.atomic ? Shape::kLeaf : Shape::kObject;
    case Form::kMap: return type.atomic ? Shape::kLeaf : Shape::kObject;
    case Form::kList: return type.list_type == ListType::kAtomic ? Shape::kLeaf : Shape::kElements;
    case Form::kAny:
    case Form::kRaw:
    case Form::kJson: return value.is_object() && !type.atomic ? Shape::kObject : Shape::kLeaf;
    default: return Shape::kLeaf;
  }
}
/// Of two values, either of which may be absent.
Shape shape_of(const TypeNode& type, const Json* a, const Json* b) {
  const Shape left = a == nullptr || a->is_null() ? Shape::kLeaf : shape_of(type, *a);
  const Shape right = b == nullptr || b->is_null() ? Shape::kLeaf : shape_of(type, *b);
  if (type.form == Form::kStruct || type.form == Form::kMap || type.form == Form::kList) return shape_of(type, Json());
  return left == right ? left : (a == nullptr || a->is_null() ? right : b == nullptr || b->is_null() ? left : Shape::kLeaf);
}

/// The type of a member; nullptr where it is not declared. `declared`: it is a field of a struct.
const TypeNode* member_type(const TypeNode& type, const std::string& name, bool* declared = nullptr) {
  if (declared != nullptr) *declared = false;
  if (type.form == Form::kMap) return type.element;
  if (type.form != Form::kStruct) return &anything();
  const StructType* fields = type.type();
  if (fields == nullptr) return &anything();
  const FieldType* field = fields->find(name);
  if (field != nullptr) {
    if (declared != nullptr) *declared = true;
    return &field->node;
  }
  return type.preserve_unknown ? &anything() : nullptr;
}

const TypeNode& element_type(const TypeNode& type) { return type.element == nullptr ? anything() : *type.element; }

/// What stands for an element of a set or list map; nullopt where it lacks a key.
std::optional<std::string> identity_of(const TypeNode& list, const Json& element) {
  if (list.list_type == ListType::kSet) return value_element(element);
  if (!element.is_object()) return std::nullopt;
  Json key = Json::object();
  for (const std::string& name : list.keys) {
    if (const Json* value = find(element, {name}); value != nullptr && !value->is_null()) {
      key[name] = *value;
      continue;
    }
    const auto fallback =
        std::find_if(list.key_defaults.begin(), list.key_defaults.end(), [&](const auto& entry) { return entry.first == name; });
    if (fallback != list.key_defaults.end()) key[name] = fallback->second;
  }
  return key.empty() ? std::nullopt : std::optional(key_element(key));
}

bool same(const Json& a, const Json& b) { return a == b; }
bool is_hollow(const Json* value) { return value == nullptr || value->is_null() || (value->is_structured() && value->empty()); }

void check(const Json& value, const TypeNode& type, const std::string& path, std::vector<std::string>& errors) {
  if (errors.size() >= 100 || value.is_null()) return;
  const auto expect = [&](bool fits, std::string_view wanted) {
    if (fits) return true;
    const char* got = value.is_object()         ? "map"
                      : value.is_array()        ? "list"
                      : value.is_string()       ? "string"
                      : value.is_boolean()      ? "boolean"
                      : value.is_number_float() ? "float"
                                                : "int";
    errors.push_back(path + ": expected " + std::string(wanted) + ", got " + got);
    return false;
  };
  switch (type.form) {
    case Form::kString:
    case Form::kBytes:
    case Form::kTime:
    case Form::kMicroTime: expect(value.is_string(), "string"); return;
    case Form::kBool: expect(value.is_boolean(), "boolean"); return;
    case Form::kInt32:
    case Form::kInt64:
    case Form::kDouble:
    case Form::kNumber: expect(value.is_number(), "numeric (int or float)"); return;
    case Form::kStruct:
    case Form::kMap:
      if (!expect(value.is_object(), "map")) return;
      for (const auto& [key, member] : value.items()) {
        const TypeNode* child = member_type(type, key);
        if (child == nullptr) {
          errors.push_back(path + "." + key + ": field not declared in schema");
        } else {
          check(member, *child, path + "." + key, errors);
        }
      }
      return;
    case Form::kList: {
      if (!expect(value.is_array(), "list")) return;
      std::set<std::string> seen;
      for (std::size_t i = 0; i < value.size(); ++i) {
        std::string here = path + "[" + std::to_string(i) + "]";
        if (type.list_type != ListType::kAtomic) {
          const auto identity = identity_of(type, value[i]);
          if (!identity) {
            errors.push_back(path + ": element " + std::to_string(i) +
                             ": associative list with keys has an element that omits all key fields " + dump_json(type.keys) +
                             " (and doesn't have default values for any key fields)");
            continue;
          }
          here = path + element_text(*identity);
          if (!seen.insert(*identity).second) errors.push_back(path + ": duplicate entries for key " + element_text(*identity));
        }
        check(value[i], element_type(type), here, errors);
      }
      return;
    }
    default: return;
  }
}

void collect(const Json& value, const TypeNode& type, FieldSet& into) {
  const Shape shape = shape_of(type, value);
  if (shape == Shape::kLeaf) {
    into.member = true;
    return;
  }
  if (shape == Shape::kObject) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : value.items()) {
      bool declared = false;
      const TypeNode* child = member_type(type, key, &declared);
      FieldSet& below = into.children[field_element(key)];
      collect(member, child == nullptr ? anything() : *child, below);
      if (!declared || member.is_null() || (member.is_object() && member.empty())) below.member = true;
      if (below.empty()) into.children.erase(field_element(key));
    }
    return;
  }
  if (!value.is_array()) return;
  for (const Json& element : value) {
    const auto identity = identity_of(type, element);
    if (!identity) continue;
    FieldSet& below = into.children[*identity];
    collect(element, element_type(type), below);
    below.member = true;
  }
}

class Comparer {
 public:
  explicit Comparer(Difference& difference) : difference_(difference) {}

  void walk(const Json* before, const Json* after, const TypeNode& type) {
    const Shape shape = shape_of(type, before, after);
    if (shape == Shape::kLeaf || (is_hollow(before) && is_hollow(after))) {
      leaf(before, after);
      return;
    }
    if (shape == Shape::kObject) {
      members(before, after, type);
    } else {
      elements(before, after, type);
    }
    if (before == nullptr) insert(difference_.added);
    if (after == nullptr) insert(difference_.removed);
  }

 private:
  void leaf(const Json* before, const Json* after) {
    if (before == nullptr && after == nullptr) return;
    if (before == nullptr) {
      insert(difference_.added);
    } else if (after == nullptr) {
      insert(difference_.removed);
    } else if (!same(*before, *after)) {
      insert(difference_.modified);
    }
  }
  void insert(FieldSet& set) const {
    FieldSet* at = &set;
    for (const std::string& element : path_) at = &at->children[element];
    at->member = true;
  }
  void members(const Json* before, const Json* after, const TypeNode& type) {
    static const Json kNone = Json::object();
    const Json& left = before != nullptr && before->is_object() ? *before : kNone;
    const Json& right = after != nullptr && after->is_object() ? *after : kNone;
    for (const auto& [key, value] : left.items()) {
      const auto other = right.find(key);
      descend(field_element(key), &value, other == right.end() ? nullptr : &*other, member_type(type, key));
    }
    for (const auto& [key, value] : right.items()) {
      if (!left.contains(key)) descend(field_element(key), nullptr, &value, member_type(type, key));
    }
  }
  void elements(const Json* before, const Json* after, const TypeNode& type) {
    const auto left = index(before, type);
    const auto right = index(after, type);
    for (const auto& [identity, value] : left) {
      const auto other = right.find(identity);
      descend(identity, value, other == right.end() ? nullptr : other->second, &element_type(type));
    }
    for (const auto& [identity, value] : right) {
      if (!left.contains(identity)) descend(identity, nullptr, value, &element_type(type));
    }
  }
  static std::map<std::string, const Json*> index(const Json* list, const TypeNode& type) {
    std::map<std::string, const Json*> found;
    if (list == nullptr || !list->is_array()) return found;
    for (const Json& element : *list) {
      if (const auto identity = identity_of(type, element)) found.emplace(*identity, &element);
    }
    return found;
  }
  void descend(const std::string& element, const Json* before, const Json* after, const TypeNode* type) {
    if (before != nullptr && after != nullptr && same(*before, *after)) return;
    path_.push_back(element);
    walk(before, after, type == nullptr ? anything() : *type);
    path_.pop_back();
  }

  Difference& difference_;
  std::vector<std::string> path_;
};

Json merge_elements(const Json& live, const Json& intent, const TypeNode& type) {
  std::map<std::string, const Json*> ours;
  std::map<std::string, const Json*> theirs;
  std::vector<std::string> order;
  for (const Json& element : intent) {
    const auto identity = identity_of(type, element);
    if (identity && ours.emplace(*identity, &element).second) order.push_back(*identity);
  }
  for (const Json& element : live) {
    if (const auto identity = identity_of(type, element)) theirs.emplace(*identity, &element);
  }
  Json merged = Json::array();
  std::size_t next = 0;
  const auto take = [&] {
    const std::string& identity = order[next++];
    const auto old = theirs.find(identity);
    merged.push_back(old == theirs.end() ? *ours[identity] : merge_intent(*old->second, *ours[identity], element_type(type)));
  };
  // The first of our elements, from `next` on, that the live list has, too.
  const auto next_shared = [&] {
    std::size_t at = next;
    while (at < order.size() && !theirs.contains(order[at])) ++at;
    return at;
  };
  std::size_t shared = next_shared();
  for (const Json& element : live) {
    const auto identity = identity_of(type, element);
    if (!identity || !ours.contains(*identity)) {
      merged.push_back(element);
      continue;
    }
    // What we share keeps our order: it comes when it is its turn, and what we have before it comes with it.
    if (shared == order.size() || order[shared] != *identity) continue;
    while (next <= shared) take();
    shared = next_shared();
  }
  while (next < order.size()) take();
  return merged;
}

}  // namespace

std::vector<std::string> type_errors(const Json& value, const TypeNode& type) {
  std::vector<std::string> errors;
  check(value, type, "", errors);
  return errors;
}

FieldSet fields_of(const Json& value, const TypeNode& type) {
  FieldSet set;
  collect(value, type, set);
  return set;
}

Difference compare(const Json& before, const Json& after, const TypeNode& type) {
  Difference difference;
  Comparer(difference).walk(&before, &after, type);
  return difference;
}

Json merge_intent(const Json& live, const Json& intent, const TypeNode& type) {
  const Shape shape = shape_of(type, &live, &intent);
  if (shape == Shape::kObject && live.is_object() && intent.is_object()) {
    Json merged = live;
    for (const auto& [key, value] : intent.items()) {
      const auto old = live.find(key);
      const TypeNode* child = member_type(type, key);
      merged[key] = old == live.end() ? value : merge_intent(*old, value, child == nullptr ? anything() : *child);
    }
    return merged;
  }
  if (shape == Shape::kElements && live.is_array() && intent.is_array()) return merge_elements(live, intent, type);
  return intent;
}

void prune_fields(Json& value, const TypeNode& type, const FieldSet& last, const FieldSet& owned) {
  const Shape shape = shape_of(type, value);
  if (shape == Shape::kObject && value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      const std::string element = field_element(at.key());
      const FieldSet* before = last.child(element);
      const FieldSet* now = owned.child(element);
      if (before != nullptr && now == nullptr) {
        at = value.erase(at);
        continue;
      }
      if (before != nullptr) {
        const TypeNode* child = member_type(type, at.key());
        prune_fields(*at, child == nullptr ? anything() : *child, *before, *now);
      }
      ++at;
    }
  } else if (shape == Shape::kElements && value.is_array()) {
    Json kept = Json::array();
    for (Json& element : value) {
      const auto identity = identity_of(type, element);
      const FieldSet* before = identity ? last.child(*identity) : nullptr;
      const FieldSet* now = identity ? owned.child(*identity) : nullptr;
      if (before != nullptr && now == nullptr) continue;
      if (before != nullptr) prune_fields(element, element_type(type), *before, *now);
      kept.push_back(std::move(element));
    }
    value = std::move(kept);
  }
}

}  // namespace fleetadm::apimachinery
