#include "core/cel/library.h"

namespace fleetadm::cel {

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
