// The kubeconfig with which a hosted agent reaches its member: the token of a ServiceAccount with the agent's rights, and not
// what the person who joins it has.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// How the hosting cluster reaches the member.
struct MemberWay {
  std::string server;
  std::string ca_pem;  // empty: a CA that the agent's system trusts
  std::string tls_server_name;
  std::string proxy_url;
};

/// A configuration of this way; without credentials where `token` is empty.
kube::RestConfig member_config(const MemberWay& way, std::string name, const std::string& token = {});

/// A kubeconfig of this way with a token.
std::string member_kubeconfig(const MemberWay& way, const std::string& token);

/// The token in `kubeconfig`, where it is of this way and is not to be renewed at `now`; else empty.
std::string token_to_keep(const std::string& kubeconfig, const MemberWay& way, Instant now);

/// The account on the member whose token is stored, and the user of Kubernetes that it may act as for works; none: it may do
/// everything itself.
struct MemberAccount {
  std::string ns;
  std::string name;
  std::string acts_as;

  bool operator==(const MemberAccount&) const = default;
};
MemberAccount hosted_member_account();

/// A new token of the account, for 30 days or as long as the member allows.
Result<std::string> new_member_token(const kube::Client& member, const MemberAccount& account,
                                     Duration lifetime = std::chrono::hours(30 * 24));

/// Whether the member takes the token for what an agent does: `as_agent` is a client with it. Asks again for some seconds while
/// the member has not seen the account's rights yet.
Status check_member_token(const kube::Client& as_agent, const MemberAccount& account, std::stop_token stop);

/// Whether `client` may do all of these (resourceAttributes of a SelfSubjectAccessReview); it is asked again for some seconds.
/// False: not all of them.
Result<bool> wait_for_rights(const kube::Client& client, const std::vector<Json>& rights, const std::stop_token& stop);

}  // namespace fleetadm::join
