// What Values share: the nodes behind strings, lists, maps, types and optionals. Only value*.cc and the interpreter's accumulator
// look inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cel/value.h"

namespace fleetadm::cel {

struct TextNode final : Counted {
  explicit TextNode(std::string value, bool aborts = false) : text(std::move(value)), abort(aborts) {}
  std::string text;
  bool abort;  // of an error: && and || do not absorb it
};

struct TypeNode final : Counted {
  explicit TypeNode(Type value) : type(std::move(value)) {}
  Type type;
};

struct OptionalNode final : Counted {
  explicit OptionalNode(Value value) : content(std::move(value)) {}
  Value content;
};

/// Elements in a row, or two lists one after the other (concat() is in constant time, as its cost says).
struct ListNode final : Counted {
  explicit ListNode(std::vector<Value> values) : elements(std::move(values)), size(elements.size()) {}
  ListNode(Value a, Value b, std::size_t total) : left(std::move(a)), right(std::move(b)), size(total), joined(true) {}

  std::vector<Value> elements;
  Value left;
  Value right;
  std::size_t size;
  bool joined = false;
};

/// Whether a value can be a key of a map: no list, no map, no NaN.
bool is_key(const Value& value);

struct MapNode final : Counted {
  explicit MapNode(std::vector<Value::Entry> pairs);
  /// The entry of exactly this key (kind and content), or nullptr.
  const Value::Entry* exact(const Value& key) const;

  std::vector<Value::Entry> entries;
  std::vector<std::uint32_t> order;  // indexes of entries, sorted by key
};

/// The door to a Value's inside.
class ValueAccess {
 public:
  static Value shared(Kind kind, const Counted* node) { return Value(kind, node); }
  template <class Node>
  static const Node* node(const Value& value) {
    return value.rep_ == Value::Rep::kShared ? static_cast<const Node*>(value.payload_.shared) : nullptr;
  }
  static const Json* json(const Value& value) { return value.rep_ == Value::Rep::kJson ? value.payload_.json : nullptr; }
  /// Adds to a list that nobody else holds, in place; false where that cannot be.
  static bool append(Value& list, std::vector<Value>& elements) {
    if (!list.is(Kind::kList) || list.rep_ != Value::Rep::kShared || !list.payload_.shared->is_sole()) return false;
    auto* node = const_cast<ListNode*>(static_cast<const ListNode*>(list.payload_.shared));
    if (node->joined || node->size + elements.size() > kMaxListSize) return false;
    for (Value& element : elements) node->elements.push_back(std::move(element));
    node->size = node->elements.size();
    return true;
  }
};

}  // namespace fleetadm::cel
