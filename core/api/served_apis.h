// The APIs that a cluster serves, as its AddOnPlacementScore tells them (docs/reference/registration.md#served-apis).
#pragma once

#include <string>
#include <string_view>

namespace fleetadm::api {

/// Of the score; each of its items is named as an object says what it is: "apps/v1/Deployment", "v1/Pod".
inline constexpr std::string_view kServedApis = "served-apis";
/// Its condition: whether the list is all that the cluster serves.
inline constexpr std::string_view kApisComplete = "Complete";

/// "[GROUP/]VERSION/KIND".
bool is_api_name(std::string_view text);

/// CEL that holds of clusters which serve the API, on every hub; `name` is one.
std::string serves_api(std::string_view name);

}  // namespace fleetadm::api
