// Kubernetes' quantity library.
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;

Value quantity_value(ExactQuantity quantity) { return Value::opaque(std::make_unique<const QuantityValue>(std::move(quantity))); }

Value parse_quantity(CallContext&, Args args) {
  auto quantity = ExactQuantity::parse(args[0].text());
  return quantity ? quantity_value(std::move(*quantity)) : Value::error(quantity.error().message);
}

Value is_quantity(CallContext&, Args args) { return Value::boolean(ExactQuantity::parse(args[0].text()).has_value()); }

/// Of one quantity.
template <class Read>
Implementation of_quantity(Read read) {
  return [read](CallContext&, Args args) {
    const auto* quantity = args[0].as<QuantityValue>();
    return quantity == nullptr ? Value::no_such_overload() : Value(read(quantity->value));
  };
}

/// Of two; a whole number counts as a quantity too.
template <class Read>
Implementation of_two_quantities(Read read) {
  return [read](CallContext&, Args args) {
    const auto* left = args[0].as<QuantityValue>();
    if (left == nullptr) return Value::no_such_overload();
    if (args[1].is(Kind::kInt)) {
      return Value(read(left->value, ExactQuantity::from_int(args[1].as_int(), ExactQuantity::Format::kDecimalExponent)));
    }
    const auto* right = args[1].as<QuantityValue>();
    return right == nullptr ? Value::no_such_overload() : Value(read(left->value, right->value));
  };
}

Value sum_of_quantities(ExactQuantity left, const ExactQuantity& right) {
  left.add(right);
  return quantity_value(std::move(left));
}

Value subtract(ExactQuantity left, const ExactQuantity& right) {
  left.subtract(right);
  return quantity_value(std::move(left));
}

Value as_integer(const ExactQuantity& quantity) {
  const auto value = quantity.as_int();
  return value ? Value::integer(*value) : Value::error("cannot convert value to integer");
}

using Q = ExactQuantity;

}  // namespace

Library quantity_library() {
  const Type text = Type::string();
  const Type yes_no = Type::boolean();
  const Type integer = Type::integer();
  const Type q = QuantityValue::cel_type();
  const auto less = of_two_quantities([](const Q& a, const Q& b) { return Value::boolean(a.compare(b) < 0); });
  const auto greater = of_two_quantities([](const Q& a, const Q& b) { return Value::boolean(a.compare(b) > 0); });
  const auto compared = of_two_quantities([](const Q& a, const Q& b) { return Value::integer(a.compare(b)); });
  const auto approximate = of_quantity([](const Q& a) { return Value::real(a.approximate()); });
  const auto is_integer = of_quantity([](const Q& a) { return Value::boolean(a.as_int().has_value()); });
  Library library{.name = "kubernetes.quantity"};
  library.functions = {
      {"quantity", {global("string_to_quantity", {text}, q, parse_quantity)}},
      {"isQuantity", {global("is_quantity_string", {text}, yes_no, is_quantity)}},
      {"sign", {global("quantity_sign", {q}, integer, of_quantity([](const Q& a) { return Value::integer(a.sign()); }))}},
      {"isGreaterThan", {member("quantity_is_greater_than", {q, q}, yes_no, greater)}},
      {"isLessThan", {member("quantity_is_less_than", {q, q}, yes_no, less)}},
      {"compareTo", {member("quantity_compare_to", {q, q}, integer, compared)}},
      {"asApproximateFloat", {member("quantity_get_float", {q}, Type::real(), approximate)}},
      {"asInteger", {member("quantity_get_int", {q}, integer, of_quantity(as_integer))}},
      {"isInteger", {member("quantity_is_integer", {q}, yes_no, is_integer)}},
      {"add",
       {member("quantity_add", {q, q}, q, of_two_quantities(sum_of_quantities)),
        member("quantity_add_int", {q, integer}, q, of_two_quantities(sum_of_quantities))}},
      {"sub",
       {member("quantity_sub", {q, q}, q, of_two_quantities(subtract)),
        member("quantity_sub_int", {q, integer}, q, of_two_quantities(subtract))}},
  };
  return library;
}

}  // namespace fleetadm::cel
