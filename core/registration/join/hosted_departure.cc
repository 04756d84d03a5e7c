#include "core/registration/join/hosted_departure.h"

#include <algorithm>
#include <utility>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/helm_release.h"
#include "core/install/wait_deleted.h"
#include "core/registration/join/hosted_manifests.h"
#include "core/registration/join/remove_object.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

Result<std::vector<Json>> labelled(const kube::Client& hosting, const std::string& ns, const std::string& selector) {
  kube::ListOptions which;
  which.label_selector = selector;
  FLEETADM_TRY(const Json found, hosting.list(r::secrets(), ns, which));
  const Json& items = list_at(found, {"items"});
  return std::vector<Json>(items.begin(), items.end());
}

std::string selector_of(std::string_view label, const std::string& cluster) { return std::string(label) + "=" + cluster; }

Status remove(const kube::Client& client, const kube::Resource& resource, const Json& object, const DepartureOptions& options,
              std::vector<Change>& changes) {
  FLEETADM_CHECK(remove_object(client, resource, object, changes));
  if (options.told) options.told(resource.kind + " " + name_of(object));
  return {};
}

/// Of this member, by what it says itself.
Result<std::optional<Json>> credential_of(const kube::Client& hosting, const std::string& ns, const std::string& cluster) {
  FLEETADM_TRY(auto secret, hosting.find(r::secrets(), ns, api::hosted_credential_secret(cluster)));
  if (!secret) return std::nullopt;
  const auto name = base64_decode(str(*secret, {"data", "cluster-name"}));
  if (!name || *name != cluster) return std::nullopt;
  return secret;
}

}  // namespace

Result<std::vector<Change>> leave_hosting(const kube::Client& hosting, const std::string& ns, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(auto secrets, labelled(hosting, ns, selector_of(api::kHostedMemberLabel, options.cluster_name)));
  FLEETADM_TRY(const auto others, labelled(hosting, ns, selector_of(api::kHostedOfLabel, options.cluster_name)));
  for (const Json& other : others) {
    const bool listed =
        std::any_of(secrets.begin(), secrets.end(), [&](const Json& one) { return uid_of(one) == uid_of(other); });
    if (!listed) secrets.push_back(other);
  }
  for (const Json& secret : secrets) FLEETADM_CHECK(remove(hosting, r::secrets(), secret, options, changes));
  return changes;
}

Result<std::vector<Change>> leave_on_member(const kube::Client& member, const DepartureOptions& options) {
  std::vector<Change> changes;
  // Without its account an agent that has not ended yet makes nothing again.
  FLEETADM_CHECK(check_no_applied_works(member, options));
  FLEETADM_TRY(const auto account, member.find(r::service_accounts(), api::kAgentNamespace, api::kAgentDeployment));
  if (account && label_of(*account, install::kPartLabel) == install::kAgentPart)
    FLEETADM_CHECK(remove(member, r::service_accounts(), *account, options, changes));
  FLEETADM_TRY(const auto removed, leave_on_spoke(member, options));
  for (const Change& change : removed) {
    // A dry run finds it again.
    const bool told = std::any_of(changes.begin(), changes.end(), [&](const Change& one) {
      return one.kind == change.kind && one.ns == change.ns && one.name == change.name;
    });
    if (!told) changes.push_back(change);
  }
  return changes;
}

Result<std::string> release_of_program(const kube::Client& hosting, const std::string& ns) {
  FLEETADM_TRY(const auto program, hosting.find(r::deployments(), ns, api::kHostedDeployment));
  return program ? install::helm_release_of(*program) : std::string();
}

Result<std::vector<Change>> finish_hosting(const kube::Client& hosting, const std::string& ns, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto credential, credential_of(hosting, ns, options.cluster_name));
  if (credential) FLEETADM_CHECK(remove(hosting, r::secrets(), *credential, options, changes));
  FLEETADM_TRY(const auto members, labelled(hosting, ns, std::string(api::kHostedMemberLabel)));
  const bool others = std::any_of(members.begin(), members.end(), [&](const Json& secret) {
    return label_of(secret, api::kHostedMemberLabel) != options.cluster_name;
  });
  if (others) return changes;
  FLEETADM_TRY(const std::string release, release_of_program(hosting, ns));
  if (!release.empty()) return changes;
  install::Options how;
  how.part = kHostingPart;
  how.ns = ns;
  how.timeout = options.timeout;
  how.stop = options.stop;
  how.told = [&](const Change& change) {
    if (options.told) options.told(change.kind + " " + change.name);
  };
  // A dry run finds what was told before.
  how.keep = [&](const kube::Resource& resource, const Json& object) -> Result<bool> {
    return resource == r::secrets() && label_of(object, api::kHostedOfLabel) == options.cluster_name;
  };
  FLEETADM_TRY(const auto removed, install::remove_part(hosting, how));
  for (const Change& change : removed) {
    if (change.action == Action::kDeleted) changes.push_back(change);
  }
  return changes;
}

}  // namespace fleetadm::join
