#include "core/cel/operators.h"

#include <limits>
#include <string>
#include <utility>

#include "core/cel/ast.h"
#include "core/cel/time.h"

namespace fleetadm::cel {

namespace {

using Args = std::span<const Value>;

Value overflow(std::string_view what) { return Value::error(std::string(what) + " overflow"); }

Value shifted(const Value& timestamp, std::int64_t nanoseconds) {
  std::int64_t nanos = timestamp.nanos() + nanoseconds % kNanos;
  std::int64_t seconds = 0;
  if (__builtin_add_overflow(timestamp.seconds(), nanoseconds / kNanos, &seconds)) return overflow("timestamp");
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  } else if (nanos >= kNanos) {
    nanos -= kNanos;
    ++seconds;
  }
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) return overflow("timestamp");
  return Value::timestamp(seconds, static_cast<std::int32_t>(nanos), timestamp.zone());
}

std::string joined(std::string_view a, std::string_view b) {
  std::string text;
  text.reserve(a.size() + b.size());
  return text.append(a).append(b);
}

Value add(CallContext&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t sum = 0;
      return __builtin_add_overflow(a.as_int(), b.as_int(), &sum) ? overflow("integer") : Value::integer(sum);
    }
    case Kind::kUint: {
      std::uint64_t sum = 0;
      return __builtin_add_overflow(a.as_uint(), b.as_uint(), &sum) ? overflow("unsigned integer") : Value::unsigned_integer(sum);
    }
    case Kind::kDouble: return Value::real(a.as_double() + b.as_double());
    case Kind::kString: return Value::string(joined(a.text(), b.text()));
    case Kind::kBytes: return Value::bytes(joined(a.text(), b.text()));
    case Kind::kList: return concat(a, b);
    case Kind::kTimestamp: return shifted(a, b.duration_nanos());
    case Kind::kDuration: {
      if (b.is(Kind::kTimestamp)) return shifted(b, a.duration_nanos());
      std::int64_t sum = 0;
      return __builtin_add_overflow(a.duration_nanos(), b.duration_nanos(), &sum) ? overflow("integer") : Value::duration(sum);
    }
    default: return Value::no_such_overload();
  }
}

Value subtract_timestamps(const Value& a, const Value& b) {
  std::int64_t seconds = 0;
  std::int64_t total = 0;
  if (__builtin_sub_overflow(a.seconds(), b.seconds(), &seconds) || __builtin_mul_overflow(seconds, kNanos, &total) ||
      __builtin_add_overflow(total, std::int64_t{a.nanos()} - b.nanos(), &total)) {
    return overflow("integer");
  }
  return Value::duration(total);
}

Value subtract(CallContext&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t difference = 0;
      return __builtin_sub_overflow(a.as_int(), b.as_int(), &difference) ? overflow("integer") : Value::integer(difference);
    }
    case Kind::kUint: {
      std::uint64_t difference = 0;
      return __builtin_sub_overflow(a.as_uint(), b.as_uint(), &difference) ? overflow("unsigned integer")
                                                                           : Value::unsigned_integer(difference);
    }
    case Kind::kDouble: return Value::real(a.as_double() - b.as_double());
    case Kind::kDuration: {
      std::int64_t difference = 0;
      return __builtin_sub_overflow(a.duration_nanos(), b.duration_nanos(), &difference) ? overflow("integer")
                                                                                         : Value::duration(difference);
    }
    case Kind::kTimestamp:
      if (b.is(Kind::kTimestamp)) return subtract_timestamps(a, b);
      if (b.duration_nanos() == std::numeric_limits<std::int64_t>::min()) return overflow("integer");
      return shifted(a, -b.duration_nanos());
    default: return Value::no_such_overload();
  }
}

Value multiply(CallContext&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.is(Kind::kInt)) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.as_int(), b.as_int(), &product) ? overflow("integer") : Value::integer(product);
  }
  if (a.is(Kind::kUint)) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a.as_uint(), b.as_uint(), &product) ? overflow("unsigned integer")
                                                                      : Value::unsigned_integer(product);
  }
  return Value::real(a.as_double() * b.as_double());
}

Value divide(CallContext&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.is(Kind::kDouble)) return Value::real(a.as_double() / b.as_double());
  if (b.as_int() == 0 && b.as_uint() == 0) return Value::error("division by zero");
  if (a.is(Kind::kUint)) return Value::unsigned_integer(a.as_uint() / b.as_uint());
  if (a.as_int() == std::numeric_limits<std::int64_t>::min() && b.as_int() == -1) return overflow("integer");
  return Value::integer(a.as_int() / b.as_int());
}

Value modulo(CallContext&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (b.as_int() == 0 && b.as_uint() == 0) return Value::error("modulus by zero");
  if (a.is(Kind::kUint)) return Value::unsigned_integer(a.as_uint() % b.as_uint());
  if (a.as_int() == std::numeric_limits<std::int64_t>::min() && b.as_int() == -1) return overflow("integer");
  return Value::integer(a.as_int() % b.as_int());
}

Value negate(CallContext&, Args args) {
  if (args[0].is(Kind::kDouble)) return Value::real(-args[0].as_double());
  if (args[0].is(Kind::kDuration)) {
    if (args[0].duration_nanos() == std::numeric_limits<std::int64_t>::min()) return overflow("integer");
    return Value::duration(-args[0].duration_nanos());
  }
  if (args[0].as_int() == std::numeric_limits<std::int64_t>::min()) return overflow("integer");
  return Value::integer(-args[0].as_int());
}

Value logical_not(CallContext&, Args args) { return Value::boolean(!args[0].as_bool()); }

Value not_strictly_false(CallContext&, Args args) { return args[0].is(Kind::kBool) ? args[0] : Value::boolean(true); }

/// Of two values that have an order by their types; only NaN has none.
template <class Test>
Implementation ordering(Test test) {
  return [test](CallContext&, Args args) {
    const auto order = compare(args[0], args[1]);
    return order ? Value::boolean(test(*order)) : Value::error("NaN values cannot be ordered");
  };
}

Value is_in(CallContext& context, Args args) {
  if (args[1].is(Kind::kMap)) return Value::boolean(args[1].find(args[0]).has_value());
  bool found = false;
  args[1].each([&](const Value& element) {
    found = equal(args[0], element, context.work);
    return !found && !context.work.exhausted();
  });
  return Value::boolean(found);
}

Overload fixed(std::string id, std::vector<Type> params, Type result, Implementation call) {
  Overload overload = global(std::move(id), std::move(params), std::move(result), std::move(call));
  overload.constant_time = true;
  return overload;
}

Function singleton(const char* name, std::vector<Overload> overloads) {
  return {.name = name, .overloads = std::move(overloads), .singleton = true};
}

Function order_function(const char* name, const std::string& id, const Implementation& call) {
  const std::pair<const char*, Type> numbers[] = {
      {"int64", Type::integer()}, {"uint64", Type::unsigned_integer()}, {"double", Type::real()}};
  const std::pair<const char*, Type> others[] = {
      {"string", Type::string()}, {"bytes", Type::bytes()}, {"timestamp", Type::timestamp()}, {"duration", Type::duration()}};
  Function function = singleton(name, {});
  // Booleans first, as upstream has them: an element whose type is still open takes the first type that fits.
  function.overloads.push_back(fixed(id + "_bool", {Type::boolean(), Type::boolean()}, Type::boolean(), call));
  for (const auto& [left, type] : numbers) {
    function.overloads.push_back(fixed(id + "_" + left, {type, type}, Type::boolean(), call));
    for (const auto& [right, other] : numbers) {
      if (type == other) continue;
      function.overloads.push_back(fixed(id + "_" + left + "_" + right, {type, other}, Type::boolean(), call));
    }
  }
  for (const auto& [kind, type] : others)
    function.overloads.push_back(fixed(id + "_" + kind, {type, type}, Type::boolean(), call));
  return function;
}

std::vector<Function> arithmetic() {
  const Type integer = Type::integer();
  const Type natural = Type::unsigned_integer();
  const Type real = Type::real();
  const Type duration = Type::duration();
  const Type timestamp = Type::timestamp();
  const Type list = Type::list(Type::param("A"));
  Overload negate_duration = fixed("negate_duration", {duration}, duration, negate);
  negate_duration.undeclared = true;
  return {
      singleton(op::kAdd, {fixed("add_bytes", {Type::bytes(), Type::bytes()}, Type::bytes(), add),
                           fixed("add_double", {real, real}, real, add),
                           fixed("add_duration_duration", {duration, duration}, duration, add),
                           fixed("add_duration_timestamp", {duration, timestamp}, timestamp, add),
                           fixed("add_timestamp_duration", {timestamp, duration}, timestamp, add),
                           fixed("add_int64", {integer, integer}, integer, add), fixed("add_list", {list, list}, list, add),
                           fixed("add_string", {Type::string(), Type::string()}, Type::string(), add),
                           fixed("add_uint64", {natural, natural}, natural, add)}),
      singleton(op::kDivide,
                {fixed("divide_double", {real, real}, real, divide), fixed("divide_int64", {integer, integer}, integer, divide),
                 fixed("divide_uint64", {natural, natural}, natural, divide)}),
      singleton(op::kModulo, {fixed("modulo_int64", {integer, integer}, integer, modulo),
                              fixed("modulo_uint64", {natural, natural}, natural, modulo)}),
      singleton(op::kMultiply, {fixed("multiply_double", {real, real}, real, multiply),
                                fixed("multiply_int64", {integer, integer}, integer, multiply),
                                fixed("multiply_uint64", {natural, natural}, natural, multiply)}),
      singleton(op::kNegate, {fixed("negate_double", {real}, real, negate), fixed("negate_int64", {integer}, integer, negate),
                              std::move(negate_duration)}),
      singleton(op::kSubtract, {fixed("subtract_double", {real, real}, real, subtract),
                                fixed("subtract_duration_duration", {duration, duration}, duration, subtract),
                                fixed("subtract_int64", {integer, integer}, integer, subtract),
                                fixed("subtract_timestamp_duration", {timestamp, duration}, timestamp, subtract),
                                fixed("subtract_timestamp_timestamp", {timestamp, timestamp}, duration, subtract),
                                fixed("subtract_uint64", {natural, natural}, natural, subtract)}),
  };
}

}  // namespace

std::vector<Function> operator_functions() {
  const Type boolean = Type::boolean();
  const Type a = Type::param("A");
  const Type list = Type::list(a);
  const Type map = Type::map(a, Type::param("B"));
  Overload lenient = fixed("not_strictly_false", {boolean}, boolean, not_strictly_false);
  lenient.non_strict = true;
  std::vector<Function> functions = arithmetic();
  functions.push_back(singleton(op::kConditional, {fixed("conditional", {boolean, a, a}, a, planned)}));
  functions.push_back(singleton(op::kAnd, {fixed("logical_and", {boolean, boolean}, boolean, planned)}));
  functions.push_back(singleton(op::kOr, {fixed("logical_or", {boolean, boolean}, boolean, planned)}));
  functions.push_back(singleton(op::kEquals, {fixed("equals", {a, a}, boolean, planned)}));
  functions.push_back(singleton(op::kNotEquals, {fixed("not_equals", {a, a}, boolean, planned)}));
  functions.push_back(singleton(op::kIndex, {fixed("index_list", {list, Type::integer()}, a, planned),
                                             fixed("index_map", {map, a}, Type::param("B"), planned)}));
  functions.push_back(singleton(op::kNot, {fixed("logical_not", {boolean}, boolean, logical_not)}));
  functions.push_back(singleton(op::kNotStrictlyFalse, {std::move(lenient)}));
  functions.push_back(
      singleton(op::kIn, {fixed("in_list", {a, list}, boolean, is_in), fixed("in_map", {a, map}, boolean, is_in)}));
  functions.push_back(order_function(op::kLess, "less", ordering([](int order) { return order < 0; })));
  functions.push_back(order_function(op::kLessEquals, "less_equals", ordering([](int order) { return order <= 0; })));
  functions.push_back(order_function(op::kGreater, "greater", ordering([](int order) { return order > 0; })));
  functions.push_back(order_function(op::kGreaterEquals, "greater_equals", ordering([](int order) { return order >= 0; })));
  return functions;
}

}  // namespace fleetadm::cel
