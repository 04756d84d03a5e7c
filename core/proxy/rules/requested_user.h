// Whom a client asks to act as: Impersonate-* headers as an API server reads them (docs/reference/gateway.md#acting-as-others).
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "core/proxy/rules/caller.h"
#include "core/serve/request_info.h"

namespace fleetadm::proxy {

/// Names that one request may ask for: each is a question to the hub.
inline constexpr std::size_t kMostRequestedNames = 128;

struct RequestedUser {
  Caller user;  // as the hub would know them, with the groups that an API server adds
  /// What the caller needs the right to, each by the verb impersonate: the user or ServiceAccount first.
  std::vector<serve::Attributes> rights;
};

/// Nothing where the headers ask for nobody. 400: for groups, a uid or extra without a user, for a header that is there twice, or
/// for too much. 403: for a group that is reserved, and would not go on to a member.
Result<std::optional<RequestedUser>> read_requested_user(const serve::Headers& headers);

}  // namespace fleetadm::proxy
