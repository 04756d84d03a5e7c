// What an add-on says where something that belongs to it could not be written. `before` is the add-on as it is, `wanted` as a
// pass wants it: a failure that lasts keeps the time at which it was said first.
#pragma once

#include "core/addon/rules/deploy_works.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {

/// A work of that side.
Json with_failed_work(const Json& before, Json wanted, Side side, const Error& error, Instant now);
/// The rights of its agent on the hub.
Json with_failed_rights(const Json& before, Json wanted, const Error& error, Instant now);
/// What its agent needs to get tokens.
Json with_failed_token(const Json& before, Json wanted, const Error& error, Instant now);

}  // namespace fleetadm::addon
