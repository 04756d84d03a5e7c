// What is wrong with an object, as a Status lists it (docs/reference/kubernetes-api.md#errors).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

/// One entry of status.details.causes.
struct Cause {
  std::string reason;   // "FieldValueInvalid", …
  std::string message;  // "Invalid value: 0: spec.size in body should be …"
  std::string field;    // "spec.size"; "<nil>" where there is no field
  bool operator==(const Cause&) const = default;
};
using Causes = std::vector<Cause>;

// The messages of Kubernetes' field errors; an empty detail is left out.
Cause required(std::string field, std::string_view detail = {});
Cause bad_value(std::string field, const Json& value, std::string_view detail);
Cause invalid_without_value(std::string field, std::string_view detail);
Cause type_invalid(std::string field, const Json& value, std::string_view detail);
Cause forbidden_field(std::string field, std::string_view detail);
Cause duplicate(std::string field, const Json& value);
Cause unsupported(std::string field, const Json& value, const std::vector<std::string>& supported);
Cause too_long(std::string field, std::int64_t limit);
Cause too_many(std::string field, std::int64_t actual, std::int64_t limit);

/// `Widget.example.com "x" is invalid: spec.size: …`, several in brackets. `qualified_kind` is "Kind.group", or "Kind" in the
/// core group.
std::string invalid_message(std::string_view qualified_kind, std::string_view name, const Causes& causes);
/// details.causes.
Json to_json(const Causes& causes);

}  // namespace fleetadm::apimachinery
