// How the hub gets to a member that it dials: what its Secret says (docs/reference/registration.md#push-members).
#pragma once

#include <string>

#include "core/registration/join/hosted_token.h"
#include "core/registration/join/member_token.h"

namespace fleetadm::push {

/// What a Secret of the hub says of a member.
struct Credential {
  join::MemberAccess access;
  std::string cluster_id;
  join::MemberAccount account;  // of the token
};
/// kInvalid where it cannot be used.
Result<Credential> credential_of(const Json& secret);

/// The same address, and behind it the same cluster and account: at most the token differs.
bool leads_to_the_same(const Credential& one, const Credential& other);

}  // namespace fleetadm::push
