// What is checked of add-ons on a hub.
#include <set>

#include "commands/doctor/checkup.h"
#include "commands/framework/listing.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

/// The ClusterRoles that a template asks to be bound on the hub.
void collect_cluster_roles(const Json& addon_template, std::set<std::string>& roles) {
  for (const Json& registration : list_at(addon_template, {"spec", "registration"})) {
    for (const Json& permission : list_at(registration, {"kubeClient", "hubPermissions"})) {
      roles.insert(str(permission, {"currentCluster", "clusterRoleName"}));
      if (str(permission, {"singleNamespace", "roleRef", "kind"}) == "ClusterRole") {
        roles.insert(str(permission, {"singleNamespace", "roleRef", "name"}));
      }
    }
  }
  roles.erase("");
}

/// The hub hands on only what ClusterRoles with the label have: without it agents never get their rights.
void check_roles(Checkup& checkup, const kube::Client& client) {
  const auto templates = client.list(api::addon_templates(), "");
  if (!templates) return checkup.unreadable("add-on roles", templates.error());
  std::set<std::string> roles;
  for (const Json& addon_template : list_at(*templates, {"items"})) collect_cluster_roles(addon_template, roles);
  std::vector<std::string> missing;
  std::vector<std::string> unlabelled;
  for (const std::string& name : roles) {
    const auto role = client.find(kube::resources::cluster_roles(), "", name);
    if (!role) return checkup.unreadable("add-on roles", role.error());
    if (!*role) {
      missing.push_back(name);
    } else if (label_of(**role, addon::kHubRoleLabel) != "true") {
      unlabelled.push_back(name);
    }
  }
  if (!missing.empty()) {
    checkup.fail("add-on roles", "templates name ClusterRoles that do not exist: " + joined(missing, ", "),
                 "create them, with the label " + std::string(addon::kHubRoleLabel) + "=true");
  }
  if (!unlabelled.empty()) {
    checkup.warn(
        "add-on roles", "the hub may not grant: " + joined(unlabelled, ", "),
        "let it: kubectl label clusterrole " + joined(unlabelled, " ") + " " + std::string(addon::kHubRoleLabel) + "=true");
  }
  if (missing.empty() && unlabelled.empty()) {
    checkup.ok("add-on roles", pluralize(roles.size(), "ClusterRole") + " can be granted to add-on agents");
  }
}

void check_agents(Checkup& checkup, const kube::Client& client) {
  const auto addons = client.list(api::managed_cluster_addons(), "");
  if (!addons) return checkup.unreadable("add-ons", addons.error());
  std::set<std::string> unhealthy;
  const Json& items = list_at(*addons, {"items"});
  std::size_t available = 0;
  for (const Json& item : items) {
    const Json* condition = condition_of(item, "Available");
    if (condition != nullptr && str(*condition, {"status"}) == "True") {
      ++available;
    } else {
      unhealthy.insert(name_of(item));
    }
  }
  const std::string detail = std::to_string(available) + " of " + pluralize(items.size(), "installed add-on") + " available";
  if (unhealthy.empty()) return checkup.ok("add-ons", detail);
  checkup.warn("add-ons", detail, "see why: fleetadm addon status " + *unhealthy.begin() + " --explain");
}

}  // namespace

void check_addons(Checkup& checkup, const kube::Client& client) {
  check_roles(checkup, client);
  check_agents(checkup, client);
}

}  // namespace fleetadm::commands
