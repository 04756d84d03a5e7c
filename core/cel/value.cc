#include "core/cel/value.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/cel/value_nodes.h"

namespace fleetadm::cel {

namespace {

/// A total order of map keys: by kind, then content. Kinds without order (lists as keys) are found by nobody.
int key_order(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return a.kind() < b.kind() ? -1 : 1;
  switch (a.kind()) {
    case Kind::kBool: return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
    case Kind::kInt: return a.as_int() < b.as_int() ? -1 : (a.as_int() > b.as_int() ? 1 : 0);
    case Kind::kUint: return a.as_uint() < b.as_uint() ? -1 : (a.as_uint() > b.as_uint() ? 1 : 0);
    case Kind::kDouble: return a.as_double() < b.as_double() ? -1 : (a.as_double() > b.as_double() ? 1 : 0);
    case Kind::kString: return a.text().compare(b.text());
    case Kind::kTimestamp:
      if (a.seconds() != b.seconds()) return a.seconds() < b.seconds() ? -1 : 1;
      return a.nanos() - b.nanos();
    case Kind::kDuration: return a.duration_nanos() < b.duration_nanos() ? -1 : (a.duration_nanos() > b.duration_nanos() ? 1 : 0);
    case Kind::kType: return a.as_type().name().compare(b.as_type().name());
    default: return 0;
  }
}

}  // namespace

MapNode::MapNode(std::vector<Value::Entry> pairs) {
  order.resize(pairs.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key_order(pairs[a].first, pairs[b].first) < 0; });
  std::vector<bool> dropped(pairs.size(), false);
  bool any = false;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Value& key = pairs[order[i]].first;
    if (is_key(key) && key_order(pairs[order[i - 1]].first, key) == 0) dropped[order[i - 1]] = any = true;
  }
  if (!any) {
    entries = std::move(pairs);
    return;
  }
  std::vector<std::uint32_t> moved(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (dropped[i]) continue;
    moved[i] = static_cast<std::uint32_t>(entries.size());
    entries.push_back(std::move(pairs[i]));
  }
  std::erase_if(order, [&](std::uint32_t i) { return dropped[i]; });
  for (auto& i : order) i = moved[i];
}

const Value::Entry* MapNode::exact(const Value& key) const {
  const auto at = std::lower_bound(order.begin(), order.end(), key,
                                   [&](std::uint32_t i, const Value& wanted) { return key_order(entries[i].first, wanted) < 0; });
  if (at == order.end() || key_order(entries[*at].first, key) != 0) return nullptr;
  return &entries[*at];
}

Value::Value(const Value& other) noexcept
    : kind_(other.kind_), rep_(other.rep_), zone_(other.zone_), extra_(other.extra_), payload_(other.payload_) {
  if (rep_ == Rep::kShared) payload_.shared->retain();
}

Value::Value(Value&& other) noexcept
    : kind_(other.kind_), rep_(other.rep_), zone_(other.zone_), extra_(other.extra_), payload_(other.payload_) {
  other.kind_ = Kind::kNull;
  other.rep_ = Rep::kInline;
}

Value& Value::operator=(const Value& other) noexcept {
  if (this != &other) *this = Value(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  // The old content goes last: it may own `other`.
  Value old;
  std::swap(old.kind_, kind_);
  std::swap(old.rep_, rep_);
  std::swap(old.payload_, payload_);
  kind_ = std::exchange(other.kind_, Kind::kNull);
  rep_ = std::exchange(other.rep_, Rep::kInline);
  zone_ = other.zone_;
  extra_ = other.extra_;
  payload_ = other.payload_;
  return *this;
}

Value::~Value() {
  if (rep_ == Rep::kShared) drop();
}

void Value::drop() noexcept {
  if (payload_.shared->release()) delete payload_.shared;
}

Value Value::boolean(bool value) {
  Value result;
  result.kind_ = Kind::kBool;
  result.payload_.boolean = value;
  return result;
}

Value Value::integer(std::int64_t value) {
  Value result;
  result.kind_ = Kind::kInt;
  result.payload_.integer = value;
  return result;
}

Value Value::unsigned_integer(std::uint64_t value) {
  Value result;
  result.kind_ = Kind::kUint;
  result.payload_.natural = value;
  return result;
}

Value Value::real(double value) {
  Value result;
  result.kind_ = Kind::kDouble;
  result.payload_.real = value;
  return result;
}

Value Value::string(std::string value) {
  if (value.size() > kMaxStringBytes) return error("string is too long");
  return {Kind::kString, new TextNode(std::move(value))};
}

Value Value::borrowed(std::string_view text) {
  if (text.size() > kMaxStringBytes) return error("string is too long");
  Value result;
  result.kind_ = Kind::kString;
  result.rep_ = Rep::kBorrowedText;
  result.extra_ = static_cast<std::uint32_t>(text.size());
  result.payload_.text = text.data();
  return result;
}

Value Value::bytes(std::string value) {
  if (value.size() > kMaxStringBytes) return error("bytes are too long");
  return {Kind::kBytes, new TextNode(std::move(value))};
}

Value Value::timestamp(std::int64_t seconds, std::int32_t nanos, std::int16_t zone) {
  Value result;
  result.kind_ = Kind::kTimestamp;
  result.zone_ = zone;
  result.extra_ = static_cast<std::uint32_t>(nanos);
  result.payload_.integer = seconds;
  return result;
}

Value Value::duration(std::int64_t nanoseconds) {
  Value result;
  result.kind_ = Kind::kDuration;
  result.payload_.integer = nanoseconds;
  return result;
}

Value Value::list(std::vector<Value> elements) {
  if (elements.size() > kMaxListSize) return error("list is too long");
  return {Kind::kList, new ListNode(std::move(elements))};
}

Value Value::map(std::vector<Entry> entries) {
  if (entries.size() > kMaxListSize) return error("map is too large");
  return {Kind::kMap, new MapNode(std::move(entries))};
}

Value Value::type(Type type) { return {Kind::kType, new TypeNode(std::move(type))}; }

Value Value::optional_none() {
  Value result;
  result.kind_ = Kind::kOptional;
  return result;
}

Value Value::optional_of(Value value) {
  if (value.is_error()) return value;
  return {Kind::kOptional, new OptionalNode(std::move(value))};
}

Value Value::opaque(std::unique_ptr<const Opaque> value) {
  if (value == nullptr) return error("no value");
  return {Kind::kOpaque, value.release()};
}

Value Value::error(std::string message) { return {Kind::kError, new TextNode(std::move(message))}; }

Value Value::abort(std::string message) { return {Kind::kError, new TextNode(std::move(message), true)}; }

Value Value::no_such_overload() { return error("no such overload"); }

Value Value::view(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return boolean(*json.get_ptr<const bool*>());
    case Json::value_t::number_integer: return integer(*json.get_ptr<const std::int64_t*>());
    case Json::value_t::number_unsigned: {
      const auto natural = *json.get_ptr<const std::uint64_t*>();
      if (natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return real(static_cast<double>(natural));
      return integer(static_cast<std::int64_t>(natural));
    }
    case Json::value_t::number_float: return real(*json.get_ptr<const double*>());
    case Json::value_t::string: return borrowed(*json.get_ptr<const std::string*>());
    case Json::value_t::array:
    case Json::value_t::object: {
      Value result;
      result.kind_ = json.is_array() ? Kind::kList : Kind::kMap;
      result.rep_ = Rep::kJson;
      result.payload_.json = &json;
      return result;
    }
    default: return null();
  }
}

Value Value::copy_of(const Json& json) {
  if (const auto* text = json.get_ptr<const std::string*>()) return string(*text);
  if (json.is_array()) {
    std::vector<Value> elements;
    elements.reserve(json.size());
    for (const auto& element : json) elements.push_back(copy_of(element));
    return list(std::move(elements));
  }
  if (json.is_object()) {
    std::vector<Entry> entries;
    entries.reserve(json.size());
    for (const auto& [key, value] : json.items()) entries.emplace_back(string(key), copy_of(value));
    return map(std::move(entries));
  }
  return view(json);
}

bool Value::is_abort() const {
  const auto* node = kind_ == Kind::kError ? ValueAccess::node<TextNode>(*this) : nullptr;
  return node != nullptr && node->abort;
}

std::string_view Value::text() const {
  if (kind_ != Kind::kString && kind_ != Kind::kBytes && kind_ != Kind::kError) return {};
  if (rep_ == Rep::kBorrowedText) return {payload_.text, extra_};
  if (const auto* node = ValueAccess::node<TextNode>(*this)) return node->text;
  return {};
}

Type Value::as_type() const {
  const auto* node = kind_ == Kind::kType ? ValueAccess::node<TypeNode>(*this) : nullptr;
  return node == nullptr ? Type::error() : node->type;
}

std::optional<Value> Value::content() const {
  const auto* node = kind_ == Kind::kOptional ? ValueAccess::node<OptionalNode>(*this) : nullptr;
  if (node == nullptr) return std::nullopt;
  return node->content;
}

const Opaque* Value::as_opaque() const { return kind_ == Kind::kOpaque ? ValueAccess::node<Opaque>(*this) : nullptr; }

Type Value::runtime_type() const {
  static const Type list = Type::list(Type::dyn());
  static const Type map = Type::map(Type::dyn(), Type::dyn());
  static const Type optional = Type::optional(Type::dyn());
  switch (kind_) {
    case Kind::kNull: return Type::null();
    case Kind::kBool: return Type::boolean();
    case Kind::kInt: return Type::integer();
    case Kind::kUint: return Type::unsigned_integer();
    case Kind::kDouble: return Type::real();
    case Kind::kString: return Type::string();
    case Kind::kBytes: return Type::bytes();
    case Kind::kTimestamp: return Type::timestamp();
    case Kind::kDuration: return Type::duration();
    case Kind::kList: return list;
    case Kind::kMap: return map;
    case Kind::kType: return Type::type();
    case Kind::kOptional: return optional;
    case Kind::kOpaque: return as_opaque()->type();
    case Kind::kError: break;
  }
  return Type::error();
}

}  // namespace fleetadm::cel
