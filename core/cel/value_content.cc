// What is in lists and maps, be they nodes or views of JSON.
#include <limits>
#include <optional>
#include <type_traits>

#include "core/cel/value.h"
#include "core/cel/value_nodes.h"

namespace fleetadm::cel {

namespace {

/// `value` as an integer that is exactly it.
template <class Integer>
std::optional<Integer> lossless(double value) {
  constexpr double kLow = std::is_signed_v<Integer> ? -0x1p63 : 0.0;
  constexpr double kHigh = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
  // int64's least value itself is not taken: cel-go's conversion refuses it.
  if (!(value < kHigh) || (std::is_signed_v<Integer> ? !(value > kLow) : !(value >= kLow))) return std::nullopt;
  const auto integer = static_cast<Integer>(value);
  if (static_cast<double>(integer) != value) return std::nullopt;
  return integer;
}

const Value::Entry* find_entry(const MapNode& map, const Value& key) {
  if (map.entries.empty() || !is_key(key)) return nullptr;
  if (const auto* entry = map.exact(key)) return entry;
  switch (key.kind()) {
    case Kind::kInt:
      return key.as_int() < 0 ? nullptr : map.exact(Value::unsigned_integer(static_cast<std::uint64_t>(key.as_int())));
    case Kind::kUint:
      if (key.as_uint() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return nullptr;
      return map.exact(Value::integer(static_cast<std::int64_t>(key.as_uint())));
    case Kind::kDouble:
      if (const auto integer = lossless<std::int64_t>(key.as_double())) {
        if (const auto* entry = map.exact(Value::integer(*integer))) return entry;
      }
      if (const auto natural = lossless<std::uint64_t>(key.as_double())) return map.exact(Value::unsigned_integer(*natural));
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace

bool is_key(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kString:
    case Kind::kTimestamp:
    case Kind::kDuration:
    case Kind::kType: return true;
    case Kind::kDouble: return value.as_double() == value.as_double();
    default: return false;
  }
}

std::size_t Value::size() const {
  if (kind_ != Kind::kList && kind_ != Kind::kMap) return 0;
  if (rep_ == Rep::kJson) return payload_.json->size();
  return kind_ == Kind::kList ? ValueAccess::node<ListNode>(*this)->size : ValueAccess::node<MapNode>(*this)->entries.size();
}

Value Value::at(std::size_t index) const {
  if (kind_ != Kind::kList || index >= size()) return error("index is out of range");
  const Value* list = this;
  while (true) {
    if (list->rep_ == Rep::kJson) return view((*list->payload_.json->get_ptr<const Json::array_t*>())[index]);
    const auto* node = ValueAccess::node<ListNode>(*list);
    if (!node->joined) return node->elements[index];
    const std::size_t first = node->left.size();
    list = index < first ? &node->left : &node->right;
    if (index >= first) index -= first;
  }
}

namespace {

bool each_element(const Value& list, const std::function<bool(const Value&)>& visit) {
  // Joined lists nest to the left and to the right: an own stack instead of recursion.
  std::vector<const Value*> pending{&list};
  while (!pending.empty()) {
    const Value* next = pending.back();
    pending.pop_back();
    if (const Json* json = ValueAccess::json(*next)) {
      for (const auto& element : *json) {
        if (!visit(Value::view(element))) return false;
      }
      continue;
    }
    const auto* node = ValueAccess::node<ListNode>(*next);
    if (node->joined) {
      pending.push_back(&node->right);
      pending.push_back(&node->left);
      continue;
    }
    for (const auto& element : node->elements) {
      if (!visit(element)) return false;
    }
  }
  return true;
}

}  // namespace

void Value::each(const std::function<bool(const Value&)>& visit) const {
  if (kind_ == Kind::kList) each_element(*this, visit);
}

std::vector<Value> Value::elements() const {
  std::vector<Value> result;
  result.reserve(size());
  each([&](const Value& element) {
    result.push_back(element);
    return true;
  });
  return result;
}

std::optional<Value> Value::find(const Value& key) const {
  if (kind_ != Kind::kMap) return std::nullopt;
  if (rep_ == Rep::kJson) return key.is(Kind::kString) ? find(key.text()) : std::nullopt;
  const auto* entry = find_entry(*ValueAccess::node<MapNode>(*this), key);
  if (entry == nullptr) return std::nullopt;
  return entry->second;
}

std::optional<Value> Value::find(std::string_view key) const {
  if (kind_ != Kind::kMap) return std::nullopt;
  if (rep_ == Rep::kJson) {
    const auto& object = *payload_.json->get_ptr<const Json::object_t*>();
    const auto member = object.find(key);
    if (member == object.end()) return std::nullopt;
    return view(member->second);
  }
  return find(borrowed(key));
}

void Value::each_entry(const std::function<bool(const Value&, const Value&)>& visit) const {
  if (kind_ != Kind::kMap) return;
  if (rep_ == Rep::kJson) {
    for (const auto& [key, value] : *payload_.json->get_ptr<const Json::object_t*>()) {
      if (!visit(borrowed(key), view(value))) return;
    }
    return;
  }
  for (const auto& [key, value] : ValueAccess::node<MapNode>(*this)->entries) {
    if (!visit(key, value)) return;
  }
}

std::vector<Value> Value::keys() const {
  std::vector<Value> result;
  result.reserve(size());
  each_entry([&](const Value& key, const Value&) {
    result.push_back(key);
    return true;
  });
  return result;
}

}  // namespace fleetadm::cel
