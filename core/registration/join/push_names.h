// How what a hub has on a member that it dials is called and found: by names of our own, or by those of a Karmada control plane
// (docs/reference/registration.md#karmadas-names).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/api/push_member.h"
#include "core/registration/join/hosted_token.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Whose token the hub holds, and as whom works are applied.
MemberAccount push_account(api::MemberNames names, std::string_view hub_id, std::string_view cluster);
/// Such an account by a token of it, and by the user that the Secret says works are applied as (api::kWorksAsAnnotation);
/// nullopt: it is another's.
std::optional<MemberAccount> push_account_of(std::string_view token, std::string_view cluster, std::string_view works_as);
/// Of a member that joined before works were applied as a user: two accounts, of which the first renews its own token.
bool is_former(const MemberAccount& account);

/// What owns all else of a hub on a member, so that it goes last: its namespace, or with Karmada's names the binding of its role.
struct PushRoot {
  api::MemberNames names;
  kube::Resource type;
  Json object;
};
/// nullopt: the hub does not dial the member as `cluster`. A namespace that is being deleted counts only where nothing else does.
Result<std::optional<PushRoot>> find_push_root(const kube::Client& member, std::string_view hub_id, std::string_view cluster);
/// The name under which the hub dials the member; empty: it does not.
Result<std::string> pushed_as(const kube::Client& member, std::string_view hub_id);
/// The ids of all hubs that dial the member.
Result<std::set<std::string>> pushed_by(const kube::Client& member);

}  // namespace fleetadm::join
