#include "core/cel/library.h"

namespace fleetadm::cel {

Overload constant_time(Overload overload) {
  overload.constant_time = true;
  return overload;
}

Value planned(CallContext& /*context*/, std::span<const Value> /*args*/) { return Value::no_such_overload(); }

Overload global(std::string id, std::vector<Type> params, Type result, Implementation call, CostFunction cost) {
  return {.id = std::move(id),
          .member = false,
          .params = std::move(params),
          .result = std::move(result),
          .call = std::move(call),
          .cost = std::move(cost)};
}

Overload member(std::string id, std::vector<Type> params, Type result, Implementation call, CostFunction cost) {
  return {.id = std::move(id),
          .member = true,
          .params = std::move(params),
          .result = std::move(result),
          .call = std::move(call),
          .cost = std::move(cost)};
}

}  // namespace fleetadm::cel
