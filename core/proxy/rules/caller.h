// Who acts at a member: a caller of the hub by the name that members know it by, or whoever a token of the member is for. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/serve/http/message.h"
#include "core/serve/request_info.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Name, uid, groups and extra, of the hub's authentication or as a member gets to see them.
using Caller = serve::User;

/// A token that the member issued, which goes to it as it is: then nobody is impersonated.
struct MemberToken {
  std::string token;
};
using Actor = std::variant<Caller, MemberToken>;

/// Of the names that ServiceAccounts of the hub and their groups have on members, before "system:serviceaccount…". No other
/// identity may begin with it.
inline constexpr std::string_view kHubPrefix = "cluster:hub:";

/// By which name, and in which groups, a member gets to know a caller of the hub (docs/reference/gateway.md#identities). Users
/// keep their names; a ServiceAccount and its groups get the prefix. A name that is reserved (system:…, cluster:hub:…) or cannot
/// be sent is refused (403), a group of that kind is left out. Uid and extra do not cross: they are about the hub's objects.
Result<Caller> caller_at_member(const Caller& on_hub);

/// Whether such a caller may be impersonated at a member, whoever says so: 403 for an empty or reserved name, or any group that
/// is reserved (those of the hub's ServiceAccounts with their prefix are not).
Status check_caller(const Caller& at_member);

/// Between gateway and agent: fleetadm-user, -uid, -group (each), -extra-<key> (each), with percent-encoded values; or
/// "fleetadm-token: member" beside "authorization: Bearer …". Appends; headers of that kind must be gone before.
void write_actor(const Actor& actor, serve::Headers& headers);
/// The header says who the caller is (fleetadm-user, …).
bool is_actor_header(std::string_view name);

/// The same read back, on the agent's end. 403 where the headers name nobody, both kinds at once, something twice, or anything
/// that check_caller() refuses. Headers of the proxy that are about something else (fleetadm-upgrade) are left alone.
Result<Actor> read_actor(const serve::Headers& headers);

}  // namespace fleetadm::proxy
