#include "core/upgrade/plan.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace fleetadm::upgrade {
namespace {

/// Kinds whose objects nothing but an installation makes, and that hold no data: the hub's Secrets, say, are its own.
constexpr std::array<std::string_view, 10> kRetiredKinds = {"Deployment",
                                                            "Service",
                                                            "ValidatingAdmissionPolicyBinding",
                                                            "ValidatingAdmissionPolicy",
                                                            "NetworkPolicy",
                                                            "RoleBinding",
                                                            "Role",
                                                            "ClusterRoleBinding",
                                                            "ClusterRole",
                                                            "PodDisruptionBudget"};

/// Made by init beside the hub, and only where the hub's CA is to be readable.
bool is_cluster_info(const Json& object) { return namespace_of(object) == "kube-public"; }

std::set<std::string> versions_of(const Json& crd) {
  std::set<std::string> names;
  for (const Json& version : list_at(crd, {"spec", "versions"})) names.insert(str(version, {"name"}));
  return names;
}

std::vector<std::string> without(const std::set<std::string>& all, const std::set<std::string>& others) {
  std::vector<std::string> left;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

Result<CrdChange> crd_change(const Json* live, const Json& intent) {
  CrdChange change{name_of(intent), live == nullptr, {}, {}};
  if (live == nullptr) return change;
  change.added = without(versions_of(intent), versions_of(*live));
  change.dropped = without(versions_of(*live), versions_of(intent));
  for (const std::string& stored : string_list_at(*live, {"status", "storedVersions"})) {
    if (std::find(change.dropped.begin(), change.dropped.end(), stored) == change.dropped.end()) continue;
    return fail(Category::kConflict,
                "objects of " + change.name + " may be stored in version " + stored + ", which this version lacks",
                "upgrade through the versions in between, which migrate them");
  }
  return change;
}

}  // namespace

bool Plan::empty() const {
  return retired.empty() && std::all_of(changes.begin(), changes.end(), [](const install::Change& change) {
           return change.action == install::Action::kUnchanged || change.action == install::Action::kKeptForeign;
         });
}

Result<Plan> make_plan(const kube::Client& cluster, const Installed& installed, const std::vector<Json>& intent,
                       const install::Options& options, bool whole) {
  Plan plan;
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  gate->field_manager = cluster.gate().field_manager;
  install::Options silent = options;
  silent.told = {};
  const kube::Client dry = kube::Client(cluster.transport(), gate, cluster.cluster_name()).with_stop(options.stop);
  FLEETADM_TRY(plan.changes, install::apply_all(dry, intent, silent));
  Installed wanted{intent};
  for (std::size_t i = 0; i < intent.size(); ++i) {
    const install::Change& change = plan.changes.at(i);
    const bool changes = change.action == install::Action::kCreated || change.action == install::Action::kConfigured;
    if (change.kind != "CustomResourceDefinition" || !changes) continue;
    FLEETADM_TRY(CrdChange of_crd, crd_change(installed.find(change.kind, "", change.name), intent[i]));
    plan.crds.push_back(std::move(of_crd));
  }
  if (!whole) return plan;
  for (const Json& object : installed.objects) {
    const std::string kind = str(object, {"kind"});
    const bool ours = std::find(kRetiredKinds.begin(), kRetiredKinds.end(), kind) != kRetiredKinds.end();
    if (ours && !is_cluster_info(object) && !wanted.has(object)) plan.retired.push_back(object);
  }
  return plan;
}

Result<std::vector<install::Change>> remove_retired(const kube::Client& cluster, const Plan& plan) {
  std::vector<install::Change> changes;
  for (const Json& object : plan.retired) {
    FLEETADM_TRY(const kube::Resource resource, install::resource_of(object));
    kube::DeleteOptions how;
    how.propagation = kube::Propagation::kBackground;
    how.uid = uid_of(object);
    const auto removed = cluster.remove(resource, namespace_of(object), name_of(object), how);
    if (!removed && removed.error().category != Category::kNotFound)
      return fail(removed.error().wrap("cannot delete " + resource.kind + " " + kube::object_key(object)));
    changes.push_back({resource.kind, namespace_of(object), name_of(object), install::Action::kDeleted, resource.group});
  }
  return changes;
}

}  // namespace fleetadm::upgrade
