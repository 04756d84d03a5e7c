// What is checked where: before an installation, on a hub, on a managed cluster.
#include <algorithm>

#include "commands/doctor/checkup.h"
#include "core/api/agent_health.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/hub/hub.h"
#include "core/install/install.h"
#include "core/registration/hub/csr_rules.h"
#include "core/registration/join/hosted_members.h"
#include "core/registration/join/hosted_sides.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"
#include "templates/templates.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

constexpr std::string_view kClusterGroup = "cluster.open-cluster-management.io";

void check_admission(Checkup& checkup, const kube::Client& client) {
  const auto rendered = templates::render("hub/admission.yaml", {});
  if (!rendered) return checkup.unreadable("admission policies", rendered.error());
  std::vector<std::string> missing;
  std::size_t count = 0;
  for (const Json& ours : *rendered) {
    const auto resource = install::resource_of(ours);
    if (!resource) return checkup.unreadable("admission policies", resource.error());
    const auto found = client.find(*resource, "", name_of(ours));
    if (!found) return checkup.unreadable("admission policies", found.error());
    ++count;
    if (!*found) missing.push_back(str(ours, {"kind"}) + " " + name_of(ours));
  }
  if (missing.empty()) return checkup.ok("admission policies", pluralize(count, "object") + " present");
  checkup.fail("admission policies", "missing: " + joined(missing, ", "), "restore them: fleetadm init");
}

void check_clusters(Checkup& checkup, const kube::Client& client) {
  const auto clusters = client.list(api::managed_clusters(), "");
  if (!clusters) return checkup.unreadable("clusters", clusters.error());
  std::vector<std::string> waiting;
  std::vector<std::string> away;
  std::vector<std::string> troubled;
  const Json& items = list_at(*clusters, {"items"});
  for (const Json& cluster : items) {
    if (!flag(cluster, {"spec", "hubAcceptsClient"})) {
      waiting.push_back(name_of(cluster));
      continue;
    }
    const Json& conditions = list_at(cluster, {"status", "conditions"});
    const bool available = std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
      return str(condition, {"type"}) == api::kConditionAvailable && str(condition, {"status"}) == "True";
    });
    const api::AgentHealth agent = api::agent_health(cluster);
    if (!available) {
      away.push_back(name_of(cluster) + (agent.told ? " (its agent: " + agent.text() + ")" : ""));
    } else if (agent.told && !agent.ready) {
      troubled.push_back(name_of(cluster) + " (" + agent.words + ")");
    }
  }
  if (waiting.empty()) {
    checkup.ok("requests to join", "none is waiting");
  } else {
    checkup.warn("requests to join", "waiting: " + joined(waiting, ", "), "accept them: fleetadm accept " + joined(waiting, " "));
  }
  if (!troubled.empty()) {
    checkup.warn("agents", "not ready: " + joined(troubled, ", "),
                 "run doctor on them: fleetadm doctor --context CONTEXT_OF_THE_CLUSTER");
  }
  if (away.empty()) return checkup.ok("clusters", pluralize(items.size() - waiting.size(), "cluster") + " available");
  checkup.warn("clusters", "not available: " + joined(away, ", "),
               "run doctor on them: fleetadm doctor --context CONTEXT_OF_THE_CLUSTER");
}

}  // namespace

void check_before_installation(Checkup& checkup, const kube::Client& client) {
  check_permissions(checkup, client,
                    {{"create", "", "namespaces", "", ""},
                     {"create", "", "secrets", "", ""},
                     {"create", "", "serviceaccounts", "", ""},
                     {"create", "apps", "deployments", "", ""},
                     {"create", "apiextensions.k8s.io", "customresourcedefinitions", "", ""},
                     {"create", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""},
                     {"create", "rbac.authorization.k8s.io", "clusterroles", "", ""},
                     {"escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""},
                     {"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""},
                     {"bind", "rbac.authorization.k8s.io", "clusterroles", "", ""}},
                    true);
  const auto crds = client.list(r::custom_resource_definitions(), "");
  if (!crds) return checkup.unreadable("existing objects", crds.error());
  std::size_t foreign = 0;
  for (const Json& crd : list_at(*crds, {"items"})) {
    if (name_of(crd).ends_with(".open-cluster-management.io") && label_of(crd, install::kPartLabel).empty()) ++foreign;
  }
  if (foreign == 0) return checkup.ok("existing objects", "no CRDs of another installation");
  checkup.warn("existing objects", pluralize(foreign, "CRD") + " of another installation, which stay as they are",
               "remove that installation first if fleetadm is to replace it");
}

void check_hub(Checkup& checkup, const kube::Client& client, const Clock& clock) {
  check_crds(checkup, client, "crds/hub/", "restore them: fleetadm init");
  const bool deployed = check_deployment(checkup, client, "hub controllers", api::kHubNamespace, "fleetadm-hub");
  if (!deployed) checkup.skip("hub controllers", "not deployed by fleetadm init; they may run elsewhere");
  check_deployment(checkup, client, "gateway", api::kHubNamespace, api::kGatewayService);
  check_lease(checkup, client, clock, api::kHubNamespace, hub::kLeaderLease, deployed,
              "start the hub controllers: fleetadm init --wait");
  check_admission(checkup, client);
  check_permissions(checkup, client,
                    {{"update", kClusterGroup, "managedclusters", "accept", ""},
                     {"update", "certificates.k8s.io", "certificatesigningrequests", "approval", ""},
                     {"approve", "certificates.k8s.io", "signers", "", registration::hub::kClientSigner},
                     {"create", kClusterGroup, "placements", "", ""},
                     {"create", "work.open-cluster-management.io", "manifestworks", "", ""}},
                    false);
  check_clusters(checkup, client);
  check_addons(checkup, client);
}

void check_managed_cluster(Checkup& checkup, const kube::Client& client, const Clock& clock) {
  check_crds(checkup, client, "crds/spoke/", "restore them: fleetadm join");
  if (const auto hosted = join::hosted_as(client); hosted && *hosted)
    return checkup.skip("agent", join::runs_elsewhere(**hosted, "fleetadm doctor"));
  const bool deployed = check_deployment(checkup, client, "agent", api::kAgentNamespace, api::kAgentDeployment);
  if (!deployed) checkup.skip("agent", "not deployed by fleetadm join; it may run elsewhere");
  check_lease(checkup, client, clock, api::kAgentNamespace, std::string(api::kAgentDeployment) + "-lock", false,
              "see the agent's log: kubectl -n " + std::string(api::kAgentNamespace) + " logs deploy/" +
                  std::string(api::kAgentDeployment));
  check_credential(checkup, client, std::string(api::kAgentNamespace), std::string(api::kHubKubeconfigSecret), "fleetadm rejoin",
                   clock);
}

}  // namespace fleetadm::commands
