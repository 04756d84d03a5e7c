// Optional values: a container for at most one value, and the syntax that yields them.
#include <utility>

#include "core/cel/ast.h"
#include "core/cel/library.h"
#include "core/cel/macros.h"

namespace fleetadm::cel {

namespace {

using Args = std::span<const Value>;

Value of(CallContext&, Args args) { return Value::optional_of(args[0]); }

Value of_non_zero(CallContext&, Args args) {
  return is_zero_value(args[0]) ? Value::optional_none() : Value::optional_of(args[0]);
}

Value none(CallContext&, Args) { return Value::optional_none(); }

Value content_of(CallContext&, Args args) {
  auto content = args[0].content();
  return content ? std::move(*content) : Value::error("optional.none() dereference");
}

Value has_value(CallContext&, Args args) { return Value::boolean(args[0].content().has_value()); }

Value first(CallContext&, Args args) { return args[0].size() == 0 ? Value::optional_none() : Value::optional_of(args[0].at(0)); }

Value last(CallContext&, Args args) {
  return args[0].size() == 0 ? Value::optional_none() : Value::optional_of(args[0].at(args[0].size() - 1));
}

Value unwrap(CallContext&, Args args) {
  std::vector<Value> values;
  Value failure;
  args[0].each([&](const Value& element) {
    if (!element.is(Kind::kOptional)) {
      failure = Value::error("value is not optional: " + display(element, 100));
      return false;
    }
    if (auto content = element.content()) values.push_back(std::move(*content));
    return true;
  });
  return failure.is_error() ? failure : Value::list(std::move(values));
}

}  // namespace

Library optional_library() {
  const Type k = Type::param("K");
  const Type v = Type::param("V");
  const Type optional = Type::optional(v);
  const Type list = Type::list(v);
  const Type map = Type::map(k, v);
  const Type optionals = Type::list(optional);
  const Type name = Type::optional(Type::dyn());
  Library library{.name = "optional", .macros = optional_macros(), .optional_syntax = true};
  library.constants = {{.name = "optional_type", .type = Type::type(name), .value = Value::type(name)}};
  library.functions = {
      {.name = "optional.of", .overloads = {constant_time(global("optional_of", {v}, optional, of))}},
      {.name = "optional.ofNonZeroValue",
       .overloads = {constant_time(global("optional_ofNonZeroValue", {v}, optional, of_non_zero))}},
      {.name = "optional.none", .overloads = {global("optional_none", {}, optional, none)}},
      {.name = "value", .overloads = {member("optional_value", {optional}, v, content_of)}},
      {.name = "hasValue", .overloads = {member("optional_hasValue", {optional}, Type::boolean(), has_value)}},
      {.name = "or", .overloads = {member("optional_or_optional", {optional, optional}, optional, planned)}},
      {.name = "orValue", .overloads = {member("optional_orValue_value", {optional, v}, v, planned)}},
      {.name = op::kOptionalSelect,
       .overloads = {global("select_optional_field", {Type::dyn(), Type::string()}, optional, planned)}},
      {.name = op::kOptionalIndex,
       .overloads = {global("list_optindex_optional_int", {list, Type::integer()}, optional, planned),
                     global("optional_list_optindex_optional_int", {Type::optional(list), Type::integer()}, optional, planned),
                     global("map_optindex_optional_value", {map, k}, optional, planned),
                     global("optional_map_optindex_optional_value", {Type::optional(map), k}, optional, planned)}},
      {.name = op::kIndex,
       .overloads = {global("optional_list_index_int", {Type::optional(list), Type::integer()}, optional, planned),
                     global("optional_map_index_value", {Type::optional(map), k}, optional, planned)},
       .singleton = true},
      {.name = "last", .overloads = {constant_time(member("list_last", {list}, optional, last))}},
      {.name = "first", .overloads = {constant_time(member("list_first", {list}, optional, first))}},
      {.name = "optional.unwrap", .overloads = {global("optional_unwrap", {optionals}, list, unwrap)}},
      {.name = "unwrapOpt", .overloads = {member("optional_unwrapOpt", {optionals}, list, unwrap)}},
  };
  return library;
}

}  // namespace fleetadm::cel
