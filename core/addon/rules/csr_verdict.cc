#include "core/addon/rules/csr_verdict.h"

#include <algorithm>
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/api/agent_identity.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::addon {
namespace {

using Names = std::set<std::string>;

Names names_of(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

CsrVerdict refuse(std::string rule, std::string why) {
  return {CsrVerdict::Answer::kRefused, std::move(rule), std::move(why), nullptr};
}

/// Whom the certificate has to name.
struct Wanted {
  std::string user;
  Names groups;
  Names units;
  Names groups_too;  // that may be there
};

Wanted wanted_subject(const Json& registration, const std::string& cluster, const std::string& addon) {
  const Wanted ours{agent_user(cluster, addon, default_agent(addon)),
                    {cluster_addon_group(cluster, addon), addon_group(addon)},
                    {},
                    {"system:authenticated"}};
  const Json* own = find(registration, {kCustomSigner, "subject"});
  if (str(registration, {"type"}) != "CustomSigner" || own == nullptr || !own->is_object()) return ours;
  Wanted wanted;
  wanted.user = str(*own, {"user"}, {});
  if (wanted.user.empty()) wanted.user = agent_user(cluster, addon, default_agent(addon));
  wanted.groups = names_of(string_list_at(*own, {"groups"}));
  wanted.units = names_of(string_list_at(*own, {"organizationUnit"}));
  return wanted;
}

std::string subject_trouble(const pki::CsrInfo& asked, const Wanted& wanted) {
  if (asked.other_subject_attributes) return "the subject has more than a common name, organizations and units";
  if (asked.subject.common_name != wanted.user) {
    return "common name " + api::quoted_text(asked.subject.common_name) + " is not " + wanted.user;
  }
  const Names organizations = names_of(asked.subject.organizations);
  for (const std::string& organization : organizations) {
    if (!wanted.groups.contains(organization) && !wanted.groups_too.contains(organization)) {
      return "organization " + api::quoted_text(organization) + " is not one of the add-on's";
    }
  }
  for (const std::string& group : wanted.groups) {
    if (!organizations.contains(group)) return "organization " + api::quoted_text(group) + " is missing";
  }
  if (names_of(asked.subject.organizational_units) != wanted.units) return "the organizational units are not the registration's";
  return {};
}

/// One of the cluster's own agents: the separator belongs to the comparison, "c1" is a prefix of "c10".
bool is_by_agent_of(const Json& csr, const std::string& cluster) {
  const std::string user = str(csr, {"spec", "username"});
  if (api::is_aws_agent(user, string_list_at(csr, {"spec", "groups"}), cluster)) return true;
  const std::string prefix = std::string(api::kClusterGroupPrefix) + cluster + ":";
  return user.starts_with(prefix) && user.size() > prefix.size() && user.find(':', prefix.size()) == std::string::npos;
}

CsrVerdict judge_contents(const Json& csr, const Json& registration, const std::string& cluster, const std::string& addon) {
  if (const Status usages = api::check_client_usages(csr); !usages) return refuse("usages", usages.error().message);
  if (!is_by_agent_of(csr, cluster)) {
    return refuse("requester",
                  "its requester " + api::quoted_text(str(csr, {"spec", "username"})) + " is no agent of cluster " + cluster);
  }
  const auto asked = api::checked_request(csr);
  if (!asked) return refuse("request", asked.error().message);
  if (std::string why = subject_trouble(*asked, wanted_subject(registration, cluster, addon)); !why.empty()) {
    return refuse("subject", std::move(why));
  }
  const Names dns = names_of(asked->dns_names);
  if (!asked->ip_addresses.empty() || !asked->emails.empty() || !asked->uris.empty() ||
      !(dns.empty() || dns == Names{agent_dns_name(addon)})) {
    return refuse("alternative-names", "it asks for other names than " + agent_dns_name(addon));
  }
  if (asked->other_extensions) return refuse("extensions", "it asks for certificate extensions");
  CsrVerdict approved{CsrVerdict::Answer::kApproved, {}, {}, nullptr};
  if (str(registration, {"type"}) == "CustomSigner") approved.signer = object_at(registration, {kCustomSigner});
  return approved;
}

}  // namespace

const Json* registration_for(const Json& addon_template, std::string_view signer) {
  for (const Json& registration : list_at(addon_template, {"spec", "registration"})) {
    const std::string type = str(registration, {"type"});
    if (type == "KubeClient" && signer == api::kClientSigner) return &registration;
    const Json* block = find(registration, {kCustomSigner});
    if (type == "CustomSigner" && block != nullptr && block->is_object() && str(*block, {"signerName"}) == signer) {
      return &registration;
    }
  }
  return nullptr;
}

CsrVerdict judge_addon_request(const ObjectReader& objects, const Json& csr) {
  const std::string cluster = label_of(csr, api::kClusterNameLabel);
  const std::string addon = label_of(csr, api::kAddonNameLabel);
  if (cluster.empty() || addon.empty()) return {};
  if (!is_dns_label(cluster) || !is_dns_subdomain(addon)) {
    return refuse("labels", "its labels " + api::quoted_text(cluster) + " and " + api::quoted_text(addon) +
                                " cannot name a cluster and an add-on");
  }
  const ObjectPtr enabled = objects.get(managed_cluster_addons(), cluster, addon);
  if (enabled == nullptr) return refuse("addon", "cluster " + cluster + " does not have add-on " + addon);
  if (!has_template(*enabled)) return {};
  if (!name_of(csr).starts_with("addon-" + cluster + "-" + addon + "-")) {
    return refuse("name", "its name does not begin with addon-" + cluster + "-" + addon + "-");
  }
  const ObjectPtr managed = objects.get(managed_clusters(), {}, cluster);
  if (managed == nullptr || !flag(*managed, {"spec", "hubAcceptsClient"}) || is_deleting(*managed)) {
    return refuse("cluster", "cluster " + cluster + " is not accepted, or is being deleted");
  }
  const auto found = template_of(objects, *enabled);
  if (!found) return refuse("template", found.error().message);
  const std::string signer = str(csr, {"spec", "signerName"});
  const Json* registration = registration_for(**found, signer);
  if (registration == nullptr) {
    return refuse("signer", "add-on " + addon + " has no registration with signer " + api::quoted_text(signer));
  }
  if (str(*registration, {"type"}) == "CustomSigner" && is_kubernetes_signer(signer)) {
    return refuse("kubernetes-signer", "the custom signer of add-on " + addon + " is one of Kubernetes' own");
  }
  return judge_contents(csr, *registration, cluster, addon);
}

}  // namespace fleetadm::addon
