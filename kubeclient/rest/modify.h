// One change of an object whose state the caller knows, from a cache, say. Client::modify() is the same after a read.
#pragma once

#include <functional>
#include <string_view>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

using Change = std::function<Status(Json&)>;

/// Lets `change` edit a copy of `current` and sends the difference as Client::modify() does. kConflict with the reason
/// "Conflict": the object is no longer in this state.
Result<Json> modify_from(const Client& client, const Resource& resource, const Json& current, const Change& change,
                         std::string_view subresource = {});

/// Client::modify() that tries `known` first, which saves the read in nearly all cases.
Result<Json> modify_known(const Client& client, const Resource& resource, const Json& known, const Change& change,
                          std::string_view subresource = {});

/// Turns `before` into `after` by a JSON patch (RFC 6902) whose preconditions are the object's uid and the former values of the
/// fields that differ: other writers of other fields are never in the way, as they are of a resourceVersion. For writers that are
/// called again when what they decided on changes. kConflict with the reason "Conflict": one of these fields has changed.
/// `subresource` "status": only the status is compared and sent.
Result<Json> patch_fields(const Client& client, const Resource& resource, const Json& before, const Json& after,
                          std::string_view subresource = {});

/// modify_known() with the preconditions of patch_fields().
Result<Json> modify_fields(const Client& client, const Resource& resource, const Json& known, const Change& change,
                           std::string_view subresource = {});

}  // namespace fleetadm::kube
