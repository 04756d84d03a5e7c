// Equality, order, sizes and concatenation of values.
#include <cmath>
#include <limits>

#include "core/cel/equality.h"
#include "core/cel/value.h"
#include "core/cel/value_nodes.h"

namespace fleetadm::cel {

namespace {

constexpr std::uint64_t kInt64Max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
/// Values nest as deep as the expression and the JSON they come from; this bounds the recursion beyond doubt.
constexpr int kMaxValueDepth = 2000;

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

int compare_double_int(double a, std::int64_t b) {
  if (a < -0x1p63) return -1;
  if (a > 0x1p63) return 1;
  return three_way(a, static_cast<double>(b));
}

int compare_double_uint(double a, std::uint64_t b) {
  if (a < 0) return -1;
  if (a > 0x1p64) return 1;
  return three_way(a, static_cast<double>(b));
}

int compare_int_uint(std::int64_t a, std::uint64_t b) {
  if (a < 0 || b > kInt64Max) return -1;
  return three_way(static_cast<std::uint64_t>(a), b);
}

bool is_number(Kind kind) { return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble; }

/// Both are numbers, neither is NaN.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::kDouble)) {
    if (b.is(Kind::kDouble)) return three_way(a.as_double(), b.as_double());
    return b.is(Kind::kInt) ? compare_double_int(a.as_double(), b.as_int()) : compare_double_uint(a.as_double(), b.as_uint());
  }
  if (b.is(Kind::kDouble)) return -compare_numbers(b, a);
  if (a.is(Kind::kInt)) return b.is(Kind::kInt) ? three_way(a.as_int(), b.as_int()) : compare_int_uint(a.as_int(), b.as_uint());
  return b.is(Kind::kUint) ? three_way(a.as_uint(), b.as_uint()) : -compare_int_uint(b.as_int(), a.as_uint());
}

bool is_nan(const Value& value) { return value.is(Kind::kDouble) && std::isnan(value.as_double()); }

/// The reference's answers: an opaque value compares with its own type only.
enum class Same { kNo, kYes, kNoOverload };

Same same_if(bool same) { return same ? Same::kYes : Same::kNo; }

Same same_at(const Value& a, const Value& b, Work& work, int depth);

Same same_lists(const Value& a, const Value& b, Work& work, int depth) {
  const std::size_t size = a.size();
  if (size != b.size()) return Same::kNo;
  for (std::size_t i = 0; i < size; ++i) {
    if (same_at(a.at(i), b.at(i), work, depth) == Same::kNo) return Same::kNo;
  }
  return Same::kYes;
}

Same same_maps(const Value& a, const Value& b, Work& work, int depth) {
  if (a.size() != b.size()) return Same::kNo;
  bool same = true;
  a.each_entry([&](const Value& key, const Value& value) {
    const auto other = b.find(key);
    same = other.has_value() && same_at(value, *other, work, depth) != Same::kNo;
    return same;
  });
  return same_if(same);
}

Same same_optionals(const Value& a, const Value& b, Work& work, int depth) {
  const auto left = a.content();
  const auto right = b.content();
  if (!left || !right) return same_if(left.has_value() == right.has_value());
  if (left->is(Kind::kOpaque) && right->is(Kind::kNull)) return Same::kNoOverload;  // null is nothing special in here
  return same_at(*left, *right, work, depth);
}

Same same_opaques(const Value& a, const Value& b) {
  if (b.is(Kind::kNull)) return Same::kNo;
  if (!b.is(Kind::kOpaque) || a.as_opaque()->type().name() != b.as_opaque()->type().name()) return Same::kNoOverload;
  return same_if(a.as_opaque()->equals(*b.as_opaque()));
}

Same same_at(const Value& a, const Value& b, Work& work, int depth) {
  if (!work.spend(1) || depth > kMaxValueDepth) return Same::kNo;
  if (is_number(a.kind()) && is_number(b.kind())) return same_if(!is_nan(a) && !is_nan(b) && compare_numbers(a, b) == 0);
  if (a.is(Kind::kOpaque)) return same_opaques(a, b);
  if (a.kind() != b.kind()) return Same::kNo;
  switch (a.kind()) {
    case Kind::kNull: return Same::kYes;
    case Kind::kBool: return same_if(a.as_bool() == b.as_bool());
    case Kind::kString:
    case Kind::kBytes: return same_if(work.spend(a.text().size() / 64) && a.text() == b.text());
    case Kind::kTimestamp: return same_if(a.seconds() == b.seconds() && a.nanos() == b.nanos());
    case Kind::kDuration: return same_if(a.duration_nanos() == b.duration_nanos());
    case Kind::kList: return same_lists(a, b, work, depth + 1);
    case Kind::kMap: return same_maps(a, b, work, depth + 1);
    case Kind::kType: return same_if(a.as_type().name() == b.as_type().name());
    case Kind::kOptional: return same_optionals(a, b, work, depth + 1);
    default: return Same::kNo;
  }
}

}  // namespace

bool equal(const Value& a, const Value& b, Work& work) { return same_at(a, b, work, 0) == Same::kYes; }

std::optional<bool> equality(const Value& a, const Value& b, Work& work) {
  const Same same = same_at(a, b, work, 0);
  if (same == Same::kNoOverload) return std::nullopt;
  return same == Same::kYes;
}

std::optional<int> compare(const Value& a, const Value& b) {
  if (is_number(a.kind()) && is_number(b.kind())) {
    if (is_nan(a) || is_nan(b)) return std::nullopt;
    return compare_numbers(a, b);
  }
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::kBool: return three_way(static_cast<int>(a.as_bool()), static_cast<int>(b.as_bool()));
    case Kind::kString:
    case Kind::kBytes: return three_way(a.text().compare(b.text()), 0);
    case Kind::kTimestamp:
      if (a.seconds() != b.seconds()) return three_way(a.seconds(), b.seconds());
      return three_way(a.nanos(), b.nanos());
    case Kind::kDuration: return three_way(a.duration_nanos(), b.duration_nanos());
    default: return std::nullopt;
  }
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

std::uint64_t cost_size(const Value& value) {
  switch (value.kind()) {
    case Kind::kString: return code_points(value.text());
    case Kind::kBytes: return value.text().size();
    case Kind::kList:
    case Kind::kMap: return value.size();
    case Kind::kOptional:
      if (const auto content = value.content()) return cost_size(*content);
      return 1;
    case Kind::kOpaque: return value.as_opaque()->size();
    default: return 1;
  }
}

Value concat(const Value& a, const Value& b) {
  if (!a.is(Kind::kList) || !b.is(Kind::kList)) return Value::no_such_overload();
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  const std::size_t size = a.size() + b.size();
  if (size > kMaxListSize) return Value::error("list is too long");
  return ValueAccess::shared(Kind::kList, new ListNode(a, b, size));
}

bool is_zero_value(const Value& value) {
  constexpr std::int64_t kYearOne = -62135596800;
  switch (value.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return !value.as_bool();
    case Kind::kInt: return value.as_int() == 0;
    case Kind::kUint: return value.as_uint() == 0;
    case Kind::kDouble: return value.as_double() == 0;
    case Kind::kString:
    case Kind::kBytes: return value.text().empty();
    case Kind::kTimestamp: return value.seconds() == kYearOne && value.nanos() == 0;
    case Kind::kDuration: return value.duration_nanos() == 0;
    case Kind::kList:
    case Kind::kMap: return value.size() == 0;
    case Kind::kOpaque: return value.as_opaque()->is_zero();
    default: return false;
  }
}

}  // namespace fleetadm::cel
