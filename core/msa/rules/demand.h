// What a ManagedServiceAccount asks for (docs/reference/managed-serviceaccount.md#the-object). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::msa {

/// The lifetime to ask for, in seconds, of a text such as "24h". kInvalid: no API server gives out such a token; the message
/// begins with `field`.
Result<std::int64_t> validity_seconds(std::string_view validity, std::string_view field);
/// That of an object's spec.rotation.validity.
Result<std::int64_t> validity_seconds(const Json& object);

/// kInvalid: no ServiceAccount can have that name.
Status check_account_name(const std::string& name);

/// When the object has to be deleted (spec.ttlSecondsAfterCreation); nothing: never.
std::optional<Instant> ends_at(const Json& object);

}  // namespace fleetadm::msa
