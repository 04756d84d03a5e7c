#include "core/registration/join/blockers.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/cleanup.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::join {
namespace {

constexpr std::string_view kSetLabel = "work.open-cluster-management.io/manifestworkreplicaset";
constexpr std::string_view kAppliedCleanup = "cluster.open-cluster-management.io/applied-manifest-work-cleanup";
constexpr std::string_view kPreDeleteSuffix = "addon-pre-delete";
constexpr std::size_t kShown = 3;

Result<std::vector<Json>> served_items(const kube::Client& client, const kube::Resource& resource, const std::string& ns) {
  std::vector<Json> items;
  const Status read = client.list_each(resource, ns, {}, [&](const Json& item) -> Status {
    items.push_back(item);
    return {};
  });
  if (!read && read.error().category != Category::kNotFound)
    return fail(read.error().wrap("cannot list " + resource.qualified()));
  std::stable_sort(items.begin(), items.end(), [](const Json& a, const Json& b) {
    return registration::hub::cleanup_priority(a) < registration::hub::cleanup_priority(b);
  });
  return items;
}

Blocker blocker_of(const kube::Resource& resource, const Json& object) {
  Blocker blocker;
  blocker.kind = resource.kind;
  blocker.ns = namespace_of(object);
  blocker.name = name_of(object);
  blocker.finalizers = string_list_at(object, {"metadata", "finalizers"});
  return blocker;
}

/// Those that are not `known` are somebody's who is not of the fleet.
std::string strangers(const std::vector<std::string>& finalizers, const std::vector<std::string_view>& known) {
  std::vector<std::string> others;
  for (const std::string& one : finalizers) {
    if (std::find(known.begin(), known.end(), one) == known.end()) others.push_back(one);
  }
  return others.empty() ? "" : "whoever set " + joined(others, ", ");
}

Blocker addon_blocker(const std::string& cluster, const Json& addon) {
  Blocker blocker = blocker_of(api::managed_cluster_addons(), addon);
  blocker.owner = "add-on " + blocker.name;
  const bool hooks = std::any_of(blocker.finalizers.begin(), blocker.finalizers.end(),
                                 [](const std::string& one) { return one.ends_with(kPreDeleteSuffix); });
  if (hooks) {
    blocker.waits_for = "its pre-delete hooks on " + cluster;
  } else if (!blocker.finalizers.empty()) {
    blocker.waits_for = "the manager of the add-on";
  }
  return blocker;
}

Blocker work_blocker(const std::string& cluster, const Json& work) {
  Blocker blocker = blocker_of(api::manifest_works(), work);
  std::string set = label_of(work, kSetLabel);  // "namespace.name"
  if (const auto dot = set.find('.'); dot != std::string::npos) {
    set[dot] = '/';
    blocker.owner = "ManifestWorkReplicaSet " + set;
  } else if (const std::string addon = label_of(work, api::kAddonNameLabel); !addon.empty()) {
    blocker.owner = "add-on " + addon;
  } else if (const Json& owners = list_at(work, {"metadata", "ownerReferences"}); !owners.empty()) {
    blocker.owner = str(owners.front(), {"kind"}) + " " + str(owners.front(), {"name"});
  }
  const std::string agent(registration::hub::kWorkCleanupFinalizer);
  blocker.waits_for = strangers(blocker.finalizers, {agent});
  if (has_finalizer(work, agent))
    blocker.waits_for = "the agent of " + cluster + (blocker.waits_for.empty() ? "" : ", then " + blocker.waits_for);
  return blocker;
}

}  // namespace

std::string Blocker::text() const {
  std::string out = kind + " " + kube::object_key(ns, name);
  if (!owner.empty()) out += " of " + owner;
  out += waits_for.empty() ? " goes at once" : " waits for " + waits_for;
  if (!finalizers.empty()) out += (finalizers.size() == 1 ? " (finalizer " : " (finalizers ") + joined(finalizers, ", ") + ")";
  return out;
}

Result<std::vector<Blocker>> hub_blockers(const kube::Client& hub, const std::string& cluster) {
  std::vector<Blocker> blockers;
  FLEETADM_TRY(const auto addons, served_items(hub, api::managed_cluster_addons(), cluster));
  for (const Json& addon : addons) blockers.push_back(addon_blocker(cluster, addon));
  FLEETADM_TRY(const auto works, served_items(hub, api::manifest_works(), cluster));
  for (const Json& work : works) blockers.push_back(work_blocker(cluster, work));
  FLEETADM_TRY(const auto object, hub.find(api::managed_clusters(), "", cluster));
  if (!object) return blockers;
  Blocker last = blocker_of(api::managed_clusters(), *object);
  if (last.finalizers.empty()) return blockers;
  const std::vector<std::string_view> ours{registration::hub::kApiCleanupFinalizer, registration::hub::kResourceCleanupFinalizer};
  std::vector<std::string_view> known = ours;
  known.push_back(api::kLeavingFinalizer);
  std::string others = strangers(last.finalizers, known);
  if (has_finalizer(*object, api::kLeavingFinalizer))
    others += std::string(others.empty() ? "" : ", then ") + "the end of fleetadm unjoin";
  const bool of_hub = std::any_of(last.finalizers.begin(), last.finalizers.end(),
                                  [&](const std::string& one) { return std::find(ours.begin(), ours.end(), one) != ours.end(); });
  last.waits_for = of_hub ? "the hub controllers" + (others.empty() ? "" : ", then " + others) : others;
  blockers.push_back(std::move(last));
  return blockers;
}

Result<std::vector<Blocker>> spoke_blockers(const kube::Client& spoke) {
  std::vector<Blocker> blockers;
  FLEETADM_TRY(const auto applied, served_items(spoke, api::applied_manifest_works(), ""));
  for (const Json& one : applied) {
    Blocker blocker = blocker_of(api::applied_manifest_works(), one);
    const std::string work = str(one, {"spec", "manifestWorkName"});
    if (!work.empty()) blocker.owner = "work " + work;
    blocker.waits_for = "the agent here, once the hub has deleted the work";
    if (const std::string others = strangers(blocker.finalizers, {kAppliedCleanup}); !others.empty())
      blocker.waits_for += ", then " + others;
    blockers.push_back(std::move(blocker));
  }
  return blockers;
}

std::string first_blockers(const std::vector<Blocker>& blockers) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kShown, blockers.size()); ++i) texts.push_back(blockers[i].text());
  std::string out = joined(texts, "; ");
  if (blockers.size() > kShown) out += " and " + std::to_string(blockers.size() - kShown) + " more";
  return out;
}

Json to_json(const std::vector<Blocker>& blockers) {
  Json list = Json::array();
  for (const Blocker& one : blockers) {
    Json entry{{"kind", one.kind}, {"name", one.name}, {"finalizers", one.finalizers}};
    if (!one.ns.empty()) entry["namespace"] = one.ns;
    if (!one.owner.empty()) entry["owner"] = one.owner;
    if (!one.waits_for.empty()) entry["waitsFor"] = one.waits_for;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fleetadm::join
