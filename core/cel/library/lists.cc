// Kubernetes' lists library.
#include "core/cel/library/libraries.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;

struct Named {
  const char* name;
  Type type;
};

std::vector<Named> comparable_types() {
  return {
      {"int", Type::integer()},       {"uint", Type::unsigned_integer()}, {"double", Type::real()},   {"bool", Type::boolean()},
      {"duration", Type::duration()}, {"timestamp", Type::timestamp()},   {"string", Type::string()}, {"bytes", Type::bytes()}};
}

std::vector<Named> summable_types() {
  return {{"int", Type::integer()}, {"uint", Type::unsigned_integer()}, {"double", Type::real()}, {"duration", Type::duration()}};
}

Value too_much() { return Value::error("the evaluation is too much work"); }

bool is_comparable(const Value& value) { return compare(value, value).has_value() || value.is(Kind::kDouble); }

Value is_sorted(CallContext& context, Args args) {
  if (!context.work.spend(args[0].size())) return too_much();
  Value result = Value::boolean(true);
  Value previous;
  bool first = true;
  args[0].each([&](const Value& element) {
    if (!is_comparable(element)) {
      result = Value::no_such_overload();
      return false;
    }
    if (!first && compare(previous, element).value_or(0) > 0) {
      result = Value::boolean(false);
      return false;
    }
    first = false;
    previous = element;
    return true;
  });
  return result;
}

// The smallest (order -1) or largest (order 1); the first of equal ones.
template <int order>
Value extreme(CallContext& context, Args args) {
  if (!context.work.spend(args[0].size())) return too_much();
  Value best;
  bool first = true;
  args[0].each([&](const Value& element) {
    if (!is_comparable(element)) {
      best = Value::no_such_overload();
      return false;
    }
    if (first || compare(element, best).value_or(0) == order) best = element;
    first = false;
    return true;
  });
  if (args[0].size() == 0) return Value::error(std::string(order < 0 ? "min" : "max") + " called on empty list");
  return best;
}

Value add(const Value& sum, const Value& element) {
  if (sum.kind() != element.kind()) return Value::no_such_overload();
  switch (sum.kind()) {
    case Kind::kDouble: return Value::real(sum.as_double() + element.as_double());
    case Kind::kInt: {
      std::int64_t out = 0;
      if (__builtin_add_overflow(sum.as_int(), element.as_int(), &out)) return Value::error("integer overflow");
      return Value::integer(out);
    }
    case Kind::kUint: {
      std::uint64_t out = 0;
      if (__builtin_add_overflow(sum.as_uint(), element.as_uint(), &out)) return Value::error("unsigned integer overflow");
      return Value::unsigned_integer(out);
    }
    case Kind::kDuration: {
      std::int64_t out = 0;
      if (__builtin_add_overflow(sum.duration_nanos(), element.duration_nanos(), &out)) return Value::error("duration overflow");
      return Value::duration(out);
    }
    default: return Value::no_such_overload();
  }
}

Implementation sum_from(Value zero) {
  return [zero = std::move(zero)](CallContext& context, Args args) {
    if (!context.work.spend(args[0].size())) return too_much();
    Value sum = zero;
    args[0].each([&](const Value& element) {
      sum = add(sum, element);
      return !sum.is_error();
    });
    return sum;
  };
}

Value zero_of(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kUint: return Value::unsigned_integer(0);
    case TypeKind::kDouble: return Value::real(0);
    case TypeKind::kDuration: return Value::duration(0);
    default: return Value::integer(0);
  }
}

Value index_of(CallContext& context, Args args) {
  std::int64_t found = -1;
  for (std::size_t i = 0; i < args[0].size() && found < 0 && !context.work.exhausted(); ++i) {
    if (equal(args[0].at(i), args[1], context.work)) found = static_cast<std::int64_t>(i);
  }
  return context.work.exhausted() ? too_much() : Value::integer(found);
}

Value last_index_of(CallContext& context, Args args) {
  std::int64_t found = -1;
  for (std::size_t i = args[0].size(); i > 0 && found < 0 && !context.work.exhausted(); --i) {
    if (equal(args[0].at(i - 1), args[1], context.work)) found = static_cast<std::int64_t>(i - 1);
  }
  return context.work.exhausted() ? too_much() : Value::integer(found);
}

}  // namespace

Library lists_library() {
  Function sorted{"isSorted", {}};
  Function min{"min", {}};
  Function max{"max", {}};
  for (const Named& one : comparable_types()) {
    const std::string name = one.name;
    const Type list = Type::list(one.type);
    sorted.overloads.push_back(member("list_" + name + "_is_sorted_bool", {list}, Type::boolean(), is_sorted));
    max.overloads.push_back(member("list_" + name + "_max_" + name, {list}, one.type, extreme<1>));
    min.overloads.push_back(member("list_" + name + "_min_" + name, {list}, one.type, extreme<-1>));
  }
  Function sum{"sum", {}};
  for (const Named& one : summable_types()) {
    const std::string name = one.name;
    sum.overloads.push_back(
        member("list_" + name + "_sum_" + name, {Type::list(one.type)}, one.type, sum_from(zero_of(one.type))));
  }
  const Type a = Type::param("A");
  Library library{.name = "kubernetes.lists"};
  library.functions = {
      std::move(sorted),
      std::move(min),
      std::move(max),
      std::move(sum),
      {"indexOf", {member("list_a_index_of_int", {Type::list(a), a}, Type::integer(), index_of)}},
      {"lastIndexOf", {member("list_a_last_index_of_int", {Type::list(a), a}, Type::integer(), last_index_of)}},
  };
  return library;
}

}  // namespace fleetadm::cel
