#include "core/addon/agent/registrations.h"

#include <algorithm>

#include "core/addon/rules/agent_identity.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"

namespace fleetadm::addon::agent {
namespace {

bool is_kube_client(const Json& registration) { return str(registration, {"signerName"}) == api::kClientSigner; }

constexpr std::string_view kKubeClientSuffix = "-hub-kubeconfig";
constexpr std::string_view kSignedSuffix = "-client-cert";

std::string secret_name(const std::string& addon, const std::string& signer) {
  if (signer == api::kClientSigner) return addon + std::string(kKubeClientSuffix);
  std::string dashed = signer;
  std::replace(dashed.begin(), dashed.end(), '/', '-');
  return addon + "-" + dashed + std::string(kSignedSuffix);
}

}  // namespace

std::vector<Registration> registrations_of(const Json& addon, const std::string& agent) {
  const std::string cluster = namespace_of(addon);
  const std::string name = name_of(addon);
  std::vector<Registration> registrations;
  for (const Json& entry : list_at(addon, {"status", "registrations"})) {
    Registration registration;
    registration.signer = str(entry, {"signerName"});
    if (registration.signer.empty()) continue;
    registration.kube_client = is_kube_client(entry);
    registration.subject = {str(entry, {"subject", "user"}), string_list_at(entry, {"subject", "groups"}),
                            string_list_at(entry, {"subject", "organizationUnit"})};
    if (registration.subject.common_name.empty()) registration.subject.common_name = agent_user(cluster, name, agent);
    if (registration.kube_client && registration.subject.organizations.empty()) {
      registration.subject.organizations = {cluster_addon_group(cluster, name)};
    }
    registration.secret = secret_name(name, registration.signer);
    const bool again = std::any_of(registrations.begin(), registrations.end(),
                                   [&](const Registration& other) { return other.secret == registration.secret; });
    if (!again) registrations.push_back(std::move(registration));
  }
  return registrations;
}

std::string addon_namespace(const Json& addon) {
  std::string ns = str(addon, {"status", "namespace"});
  if (ns.empty()) ns = str(addon, {"spec", "installNamespace"});
  return ns.empty() ? std::string(api::kAgentAddonNamespace) : ns;
}

bool is_outlived(const Json& addon, const std::string& agent, const std::string& ns, const std::string& secret) {
  std::string_view of = secret;
  if (of.ends_with(kRequestSuffix)) of.remove_suffix(kRequestSuffix.size());
  const bool ours = of == name_of(addon) + std::string(kKubeClientSuffix) ||
                    (of.starts_with(name_of(addon) + "-") && of.ends_with(kSignedSuffix));
  const std::vector<Registration> registrations = registrations_of(addon, agent);
  if (!ours || registrations.empty()) return false;
  return ns != addon_namespace(addon) ||
         std::none_of(registrations.begin(), registrations.end(), [&](const Registration& one) { return one.secret == of; });
}

bool reports_by_lease(const Json& addon) { return str(addon, {"status", "healthCheck", "mode"}) != "Customized"; }

bool publish_driver(Json& addon, const std::string& driver) {
  const Json before = object_at(addon, {"status"});
  const Json& registrations = list_at(addon, {"status", "registrations"});
  if (std::none_of(registrations.begin(), registrations.end(), is_kube_client)) return false;
  addon["status"]["kubeClientDriver"] = driver;
  if (driver == kTokenDriver) {
    for (Json& registration : addon["status"]["registrations"]) {
      if (!is_kube_client(registration)) continue;
      registration["subject"] = {{"user", service_account_user(namespace_of(addon), default_agent(name_of(addon)))}};
    }
  }
  return addon["status"] != before;
}

}  // namespace fleetadm::addon::agent
