// cel-go's extension of sets, which are lists whose order and repetitions do not count.
#include "core/cel/library/libraries.h"

namespace fleetadm::cel {
namespace {

using SetArgs = std::span<const Value>;

bool has_element(const Value& list, const Value& wanted, Work& work) {
  for (std::size_t i = 0; i < list.size() && !work.exhausted(); ++i) {
    if (equal(list.at(i), wanted, work)) return true;
  }
  return false;
}

bool contains_all(const Value& list, const Value& wanted, Work& work) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!has_element(list, wanted.at(i), work)) return false;
  }
  return true;
}

Value set_contains(CallContext& context, SetArgs args) { return Value::boolean(contains_all(args[0], args[1], context.work)); }

Value set_equivalent(CallContext& context, SetArgs args) {
  return Value::boolean(contains_all(args[0], args[1], context.work) && contains_all(args[1], args[0], context.work));
}

Value set_intersects(CallContext& context, SetArgs args) {
  for (std::size_t i = 0; i < args[1].size() && !context.work.exhausted(); ++i) {
    if (has_element(args[0], args[1].at(i), context.work)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

/// Each element is compared with each of the other list, `times` over.
CostFunction product_cost(std::uint64_t times) {
  return [times](SetArgs args, const Value&) -> std::optional<std::uint64_t> {
    return times * (cost_size(args[0]) * cost_size(args[1])) + 1;
  };
}

}  // namespace

Library sets_library() {
  const Type list = Type::list(Type::param("T"));
  Library library{.name = "cel.lib.ext.sets"};
  library.functions = {
      {"sets.contains", {global("list_sets_contains_list", {list, list}, Type::boolean(), set_contains, product_cost(1))}},
      {"sets.equivalent", {global("list_sets_equivalent_list", {list, list}, Type::boolean(), set_equivalent, product_cost(2))}},
      {"sets.intersects", {global("list_sets_intersects_list", {list, list}, Type::boolean(), set_intersects, product_cost(1))}},
  };
  return library;
}

}  // namespace fleetadm::cel
