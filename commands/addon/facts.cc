#include "commands/addon/facts.h"

#include <set>

#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

const kube::Resource& requests_type() {
  static const kube::Resource kType{"certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest",
                                    false};
  return kType;
}

using ByCluster = std::map<std::string, AddonFacts>;

kube::ListOptions labelled(const std::string& addon) {
  kube::ListOptions which;
  which.label_selector = std::string(api::kAddonNameLabel) + "=" + addon;
  return which;
}

/// The strategy's placements by the clusters that they have decided on.
Result<std::map<std::string, std::vector<std::string>>> selections(const kube::Client& hub, const Json& declaration) {
  std::map<std::string, std::vector<std::string>> selected;
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const PlacementRef placement{str(one, {"namespace"}), str(one, {"name"})};
    FLEETADM_TRY(const auto clusters, decided_clusters(hub, placement));
    for (const std::string& cluster : clusters) selected[cluster].push_back(placement.ns + "/" + placement.name);
  }
  return selected;
}

/// Works of hosted mode lie in another cluster's namespace and name their own.
Status read_works(const kube::Client& hub, const std::string& addon, ByCluster& facts) {
  return hub.list_each(api::manifest_works(), "", labelled(addon), [&](Json&& work) -> Status {
    const std::string hosted_for = label_of(work, addon::kAddonNamespaceLabel);
    const auto at = facts.find(hosted_for.empty() ? namespace_of(work) : hosted_for);
    if (at != facts.end()) at->second.works.push_back(std::move(work));
    return {};
  });
}

Status read_requests(const kube::Client& hub, const std::string& addon, ByCluster& facts) {
  const Status listed = hub.list_each(requests_type(), "", labelled(addon), [&](Json&& request) -> Status {
    const auto at = facts.find(label_of(request, api::kClusterNameLabel));
    if (at != facts.end()) at->second.requests.push_back(std::move(request));
    return {};
  });
  return !listed && listed.error().code == 403 ? Status() : listed;
}

/// The template that the status names, which may be another than the specification's while a roll-out is under way.
std::string template_in(const Json& addon) {
  for (const Json& one : list_at(addon, {"status", "configReferences"})) {
    if (str(one, {"group"}) == addon::kGroup && str(one, {"resource"}) == addon::kTemplates)
      return str(one, {"desiredConfig", "name"});
  }
  return {};
}

Status check_templates(const kube::Client& hub, ByCluster& facts) {
  std::map<std::string, bool> known;
  for (auto& [cluster, one] : facts) {
    const std::string name = template_in(one.managed_addon);
    if (name.empty()) continue;
    if (!known.contains(name)) {
      FLEETADM_TRY(const auto found, hub.find(api::addon_templates(), "", name));
      known[name] = found.has_value();
    }
    if (!known[name]) one.no_template = name;
  }
  return {};
}

}  // namespace

Result<std::vector<AddonFacts>> addon_facts(const kube::Client& hub, const std::string& addon,
                                            const std::vector<std::string>& clusters) {
  FLEETADM_TRY(const auto declaration, on_hub(hub.find(api::cluster_management_addons(), "", addon)));
  const Json declared = declaration.value_or(Json());
  FLEETADM_TRY(const auto selected, selections(hub, declared));
  ByCluster facts;
  for (const std::string& cluster : clusters) facts[cluster];
  if (clusters.empty()) {
    for (const auto& [cluster, by] : selected) facts[cluster];
  }
  kube::ListOptions named;
  named.field_selector = "metadata.name=" + addon;
  FLEETADM_CHECK(hub.list_each(api::managed_cluster_addons(), "", named, [&](Json&& one) -> Status {
    if (!clusters.empty() && !facts.contains(namespace_of(one))) return {};
    AddonFacts& at = facts[namespace_of(one)];
    at.managed_addon = std::move(one);
    return {};
  }));
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](Json&& one) -> Status {
    if (const auto at = facts.find(name_of(one)); at != facts.end()) at->second.managed_cluster = std::move(one);
    return {};
  }));
  FLEETADM_CHECK(read_works(hub, addon, facts));
  FLEETADM_CHECK(read_requests(hub, addon, facts));
  FLEETADM_CHECK(check_templates(hub, facts));
  std::vector<AddonFacts> out;
  for (auto& [cluster, one] : facts) {
    one.addon = addon;
    one.cluster = cluster;
    one.declaration = declared;
    if (const auto by = selected.find(cluster); by != selected.end()) one.selected_by = by->second;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace fleetadm::commands
