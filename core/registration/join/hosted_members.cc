#include "core/registration/join/hosted_members.h"

#include <algorithm>
#include <utility>

#include "core/api/hosted_member.h"
#include "core/install/install.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

HostedMember read_member(const Json& secret) {
  HostedMember member;
  member.cluster = label_of(secret, api::kHostedMemberLabel);
  member.secret = name_of(secret);
  member.kubeconfig = base64_decode(str(secret, {"data", "kubeconfig"})).value_or("");
  const auto args = parse_json(base64_decode(str(secret, {"data", api::kHostedArgsKey})).value_or(""));
  if (args) member.args = string_list_at(*args, {});
  member.bootstrap_secrets = api::hosted_bootstraps(secret);
  return member;
}

}  // namespace

Result<std::vector<HostedMember>> hosted_members(const kube::Client& hosting, std::string_view ns) {
  kube::ListOptions which;
  which.label_selector = std::string(api::kHostedMemberLabel);
  std::vector<HostedMember> members;
  FLEETADM_CHECK(hosting.list_each(r::secrets(), ns, which, [&](const Json& secret) -> Status {
    members.push_back(read_member(secret));
    return {};
  }));
  std::sort(members.begin(), members.end(), [](const HostedMember& one, const HostedMember& other) {
    return std::pair(one.cluster, one.secret) < std::pair(other.cluster, other.secret);
  });
  return members;
}

Result<bool> hosts_agents(const kube::Client& hosting, std::string_view ns) {
  FLEETADM_TRY(const auto deployment, hosting.find(r::deployments(), ns, api::kHostedDeployment));
  return deployment && label_of(*deployment, install::kPartLabel) == kHostingPart;
}

std::string runs_elsewhere(const Hosting& hosting, std::string_view command) {
  return "it runs on another cluster (" + hosting.by + "); there: " + std::string(command) +
         " --context HOSTING_CLUSTER --mode hosted --clusters " + hosting.cluster;
}

}  // namespace fleetadm::join
