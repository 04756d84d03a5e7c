#include "core/registration/hub/profiles.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/api/cluster_profile.h"
#include "core/api/kinds.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/selector.h"

namespace fleetadm::registration::hub {
namespace {

using controller::Outcome;

constexpr const char* kProfiles = "cluster-profiles";
constexpr const char* kByCluster = "cluster";
constexpr const char* kBySet = "set";
constexpr std::string_view kProfileSetLabel = "multicluster.x-k8s.io/clusterset";
// Programs tell ways to a cluster apart by this name: the one for which credential plugins of Open Cluster Management answer.
constexpr std::string_view kProvider = api::kClusterManager;
constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";  // what a plugin is told of the cluster
constexpr const char* kDirectExtension = "fleetadm.io/direct";               // on the way that the hub writes
// Whether a foreign object has gone, or a cache has caught up: nobody tells.
constexpr auto kForeignPause = std::chrono::minutes(10);
constexpr auto kBehind = std::chrono::seconds(1);

std::string bound_set(const Json& binding) { return str(binding, {"spec", "clusterSet"}); }

/// A binding has the name of its set: others bind nothing.
bool binds(const Json& binding) { return !is_deleting(binding) && name_of(binding) == bound_set(binding); }

Json mirrored(const Json& cluster, std::string_view from, std::string_view type) {
  const Json* condition = controller::find_condition(cluster, from);
  if (condition == nullptr) return nullptr;
  Json copy{{"type", std::string(type)}};
  for (const char* member : {"status", "reason", "message", "lastTransitionTime"}) copy[member] = str(*condition, {member});
  return copy;
}

/// In the place of the condition of its type, or behind all; null takes that one away.
void place_condition(Json& status, std::string_view type, Json condition) {
  Json& conditions = at_or_make(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const auto at = std::find_if(conditions.begin(), conditions.end(), [&](const Json& one) { return str(one, {"type"}) == type; });
  if (condition.is_null()) {
    if (at != conditions.end()) conditions.erase(at);
  } else if (at != conditions.end()) {
    *at = std::move(condition);
  } else {
    conditions.push_back(std::move(condition));
  }
}

Json extension(const char* name, Json content) { return {{"name", name}, {"extension", std::move(content)}}; }

/// The way at the first address that the cluster has told; null: it has told none.
Json direct_way(const Json& cluster) {
  for (const Json& config : list_at(cluster, {"spec", "managedClusterClientConfigs"})) {
    const std::string server = str(config, {"url"});
    if (server.empty()) continue;
    Json way{{"server", server},
             {"extensions", Json::array({extension(kExecExtension, {{"clusterName", name_of(cluster)}}),
                                         extension(kDirectExtension, Json::object())})}};
    if (const std::string ca = str(config, {"caBundle"}); !ca.empty()) way["certificate-authority-data"] = ca;
    return {{"name", std::string(kProvider)}, {"cluster", std::move(way)}};
  }
  return nullptr;
}

bool is_direct_way(const Json& provider) {
  const Json& extensions = list_at(provider, {"cluster", "extensions"});
  return std::any_of(extensions.begin(), extensions.end(),
                     [](const Json& one) { return str(one, {"name"}) == kDirectExtension; });
}

/// Somebody else's way of that name, as of the add-on cluster-proxy, stays.
void place_direct_way(Json& status, Json way) {
  const Json& before = list_at(status, {"accessProviders"});
  const auto named = [](const Json& one) { return str(one, {"name"}) == kProvider; };
  const auto found = std::find_if(before.begin(), before.end(), named);
  if (found == before.end() ? way.is_null() : !is_direct_way(*found)) return;
  Json after = Json::array();
  for (const Json& one : before) {
    if (!named(one)) {
      after.push_back(one);
    } else if (!way.is_null()) {
      after.push_back(way);
    }
  }
  if (found == before.end()) after.push_back(std::move(way));
  if (after.empty()) {
    status.erase("accessProviders");
  } else {
    status["accessProviders"] = std::move(after);
  }
}

class Profiles {
 public:
  struct Caches {
    std::shared_ptr<kube::Informer> clusters;
    std::shared_ptr<kube::Informer> sets;
    std::shared_ptr<kube::Informer> bindings;
    std::shared_ptr<kube::Informer> profiles;
  };
  Profiles(kube::Client hub, Caches caches) : hub_(std::move(hub)), caches_(std::move(caches)) {}

  /// `key` is "namespace/cluster".
  Result<Outcome> reconcile(const std::string& key, const std::stop_token& stop) const {
    const kube::Client hub = hub_.with_stop(stop);
    const auto [ns, name] = kube::split_key(key);
    const kube::CachedPtr cluster = caches_.clusters->get(name);
    const kube::CachedPtr cached = caches_.profiles->get(key);
    if (cluster && is_asked_for(ns, cluster->decode())) return keep(hub, ns, cluster->decode(), cached);
    if (cached) return drop(hub, cached->decode());
    return Outcome{};
  }

  std::vector<std::string> keys_of_cluster(const std::string& name) const {
    std::set<std::string> keys;
    for (const kube::CachedPtr& binding : caches_.bindings->list())
      keys.insert(kube::object_key(kube::split_key(binding->key()).ns, name));
    for (const kube::CachedPtr& profile : caches_.profiles->by_index(kByCluster, name)) keys.insert(profile->key());
    return {keys.begin(), keys.end()};
  }
  std::vector<std::string> keys_of_namespace(const std::string& ns) const {
    std::vector<std::string> keys;
    for (const kube::CachedPtr& cluster : caches_.clusters->list()) keys.push_back(kube::object_key(ns, cluster->key()));
    return keys;
  }
  std::vector<std::string> keys_of_set(const std::string& set) const {
    std::vector<std::string> keys;
    for (const kube::CachedPtr& binding : caches_.bindings->by_index(kBySet, set)) {
      std::vector<std::string> more = keys_of_namespace(kube::split_key(binding->key()).ns);
      keys.insert(keys.end(), more.begin(), more.end());
    }
    return keys;
  }

 private:
  bool is_asked_for(const std::string& ns, const Json& cluster) const {
    if (is_deleting(cluster)) return false;
    const auto bindings = caches_.bindings->list();
    return std::any_of(bindings.begin(), bindings.end(), [&](const kube::CachedPtr& one) {
      if (kube::split_key(one->key()).ns != ns) return false;
      const Json binding = one->decode();
      const kube::CachedPtr set = binds(binding) ? caches_.sets->get(bound_set(binding)) : nullptr;
      return set && is_in_set(cluster, set->decode());
    });
  }

  /// The same as the server has it: a profile is not deleted on the word of a cache.
  static Result<bool> is_asked_for(const kube::Client& hub, const std::string& ns, const std::string& name) {
    FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", name));
    if (!cluster || is_deleting(*cluster)) return false;
    FLEETADM_TRY(const Json bindings, hub.list(api::managed_cluster_set_bindings(), ns));
    for (const Json& binding : list_at(bindings, {"items"})) {
      if (!binds(binding)) continue;
      FLEETADM_TRY(const auto set, hub.find(api::managed_cluster_sets(), "", bound_set(binding)));
      if (set && is_in_set(*cluster, *set)) return true;
    }
    return false;
  }

  static Result<Outcome> keep(const kube::Client& hub, const std::string& ns, const Json& cluster,
                              const kube::CachedPtr& cached) {
    const std::string name = name_of(cluster);
    Json profile = cached ? cached->decode() : Json();
    if (!cached) {
      auto made = hub.create_or_get(api::cluster_profiles(), ns, profile_object(ns, cluster));
      // A namespace that is gone, or going, takes nothing; its bindings go with it.
      if (!made && (made.error().category == Category::kNotFound || made.error().code == 403)) {
        log::warn(kProfiles, "no ClusterProfile " + ns + "/" + name + " for now: " + made.error().message);
        return Outcome{kForeignPause};
      }
      if (!made) return fail(made.error().wrap("cannot create ClusterProfile " + ns + "/" + name));
      profile = std::move(*made);
    }
    if (is_deleting(profile)) return Outcome{};  // made anew when it is gone
    if (!is_our_profile(profile)) {
      log::warn(kProfiles, "ClusterProfile " + ns + "/" + name + " is somebody else's and stays as it is");
      return Outcome{kForeignPause};
    }
    FLEETADM_CHECK(write(hub, profile, [&](Json& object) { return label_profile(object, cluster); }, {}));
    FLEETADM_CHECK(write(
        hub, profile, [&](Json& object) { return mirror_cluster(object, cluster); }, "status"));
    return Outcome{};
  }

  static Status write(const kube::Client& hub, const Json& profile, const std::function<bool(Json&)>& change,
                      std::string_view subresource) {
    Json trial = profile;
    if (!change(trial)) return {};
    const auto written = hub.modify(
        api::cluster_profiles(), namespace_of(profile), name_of(profile),
        [&](Json& object) -> Status {
          if (uid_of(object) == uid_of(profile)) change(object);
          return {};
        },
        subresource);
    if (written || written.error().category == Category::kNotFound) return {};
    return fail(written.error().wrap("cannot update ClusterProfile " + namespace_of(profile) + "/" + name_of(profile)));
  }

  static Result<Outcome> drop(const kube::Client& hub, const Json& profile) {
    if (is_deleting(profile) || !is_our_profile(profile) || label_of(profile, api::kProfileClusterLabel).empty())
      return Outcome{};
    FLEETADM_TRY(const bool asked_for, is_asked_for(hub, namespace_of(profile), name_of(profile)));
    if (asked_for) return Outcome{kBehind};
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(profile);
    const auto removed = hub.remove(api::cluster_profiles(), namespace_of(profile), name_of(profile), exactly);
    if (!removed && removed.error().category != Category::kNotFound && removed.error().category != Category::kConflict)
      return fail(removed.error().wrap("cannot delete ClusterProfile " + kube::object_key(profile)));
    log::info(1, kProfiles,
              "ClusterProfile " + kube::object_key(profile) + " is deleted: no set of its namespace has the cluster");
    return Outcome{};
  }

  kube::Client hub_;
  Caches caches_;
};

/// What a profile is made of, of the cluster and its agents' frequent reports.
void keep_what_profiles_tell(Json& cluster) {
  erase_at(cluster, {"metadata", "annotations"});
  erase_at(cluster, {"metadata", "managedFields"});
  const Json configs = list_at(cluster, {"spec", "managedClusterClientConfigs"});
  cluster["spec"] = {{"managedClusterClientConfigs", configs}};
  for (const char* member : {"capacity", "allocatable", "managedNamespaces"}) erase_at(cluster, {"status", member});
}

}  // namespace

bool is_in_set(const Json& cluster, const Json& set) {
  if (is_deleting(set)) return false;
  const Json& selector = object_at(set, {"spec", "clusterSelector"});
  if (str(selector, {"selectorType"}) != "LabelSelector") return label_of(cluster, api::kClusterSetLabel) == name_of(set);
  const Json* by_labels = find(selector, {"labelSelector"});
  if (by_labels == nullptr || by_labels->is_null()) return false;  // no selector selects nothing, an empty one everything
  Labels labels;
  for (auto& [key, value] : strings_at(cluster, {"metadata", "labels"})) labels.emplace_back(key, value);
  return Selector::compile(*by_labels).matches(labels);
}

Json profile_object(const std::string& ns, const Json& cluster) {
  Json profile{{"apiVersion", api::cluster_profiles().api_version()},
               {"kind", api::cluster_profiles().kind},
               {"metadata", {{"name", name_of(cluster)}, {"namespace", ns}}},
               {"spec", {{"displayName", name_of(cluster)}, {"clusterManager", {{"name", std::string(api::kClusterManager)}}}}}};
  label_profile(profile, cluster);
  return profile;
}

bool is_our_profile(const Json& profile) {
  const std::string cluster = label_of(profile, api::kProfileClusterLabel);
  return str(profile, {"spec", "clusterManager", "name"}) == api::kClusterManager &&
         (cluster.empty() || cluster == name_of(profile));
}

bool label_profile(Json& profile, const Json& cluster) {
  const Json before = object_at(profile, {"metadata", "labels"});
  Json& labels = at_or_make(profile, {"metadata", "labels"});
  labels[std::string(api::kClusterManagerLabel)] = api::kClusterManager;
  labels[std::string(api::kProfileClusterLabel)] = name_of(cluster);
  if (const std::string set = label_of(cluster, api::kClusterSetLabel); !set.empty()) {
    labels[std::string(kProfileSetLabel)] = set;
  } else {
    labels.erase(std::string(kProfileSetLabel));
  }
  return labels != before;
}

bool mirror_cluster(Json& profile, const Json& cluster) {
  const Json before = object_at(profile, {"status"});
  Json& status = at_or_make(profile, {"status"});
  if (const std::string version = str(cluster, {"status", "version", "kubernetes"}); !version.empty())
    at_or_make(status, {"version", "kubernetes"}) = version;
  Json properties = Json::array();
  for (const Json& claim : list_at(cluster, {"status", "clusterClaims"}))
    properties.push_back({{"name", str(claim, {"name"})}, {"value", str(claim, {"value"})}});
  if (!properties.empty() || status.contains("properties")) status["properties"] = std::move(properties);
  place_condition(status, "ControlPlaneHealthy", mirrored(cluster, api::kConditionAvailable, "ControlPlaneHealthy"));
  place_condition(status, "Joined", mirrored(cluster, api::kConditionJoined, "Joined"));
  if (status["conditions"].empty()) status.erase("conditions");
  place_direct_way(status, direct_way(cluster));
  return status != before;
}

void add_profiles(controller::Manager& manager, const kube::Client& hub) {
  kube::InformerOptions clusters;
  clusters.project = keep_what_profiles_tell;
  kube::InformerOptions bindings;
  bindings.indexes = {{kBySet, [](const Json& binding) { return std::vector<std::string>{bound_set(binding)}; }}};
  kube::InformerOptions ours;
  ours.label_selector = std::string(api::kClusterManagerLabel) + "=" + std::string(api::kClusterManager);
  ours.indexes = {{kByCluster, [](const Json& profile) { return std::vector<std::string>{name_of(profile)}; }}};
  const Profiles::Caches caches{
      manager.informer(hub, api::managed_clusters(), clusters), manager.informer(hub, api::managed_cluster_sets()),
      manager.informer(hub, api::managed_cluster_set_bindings(), bindings), manager.informer(hub, api::cluster_profiles(), ours)};
  const auto profiles = std::make_shared<Profiles>(hub, caches);
  controller::ControllerOptions row;
  row.name = kProfiles;
  row.workers = 2;
  const auto queue = manager.add(
      row, [profiles](const std::string& key, const std::stop_token& stop) { return profiles->reconcile(key, stop); });
  controller::Manager::enqueue_on(*caches.profiles, queue);
  controller::Manager::enqueue_on(*caches.clusters, queue, [weak = std::weak_ptr(profiles)](const kube::CachedObject& cluster) {
    const auto all = weak.lock();
    return all ? all->keys_of_cluster(cluster.key()) : std::vector<std::string>();
  });
  controller::Manager::enqueue_on(*caches.sets, queue, [weak = std::weak_ptr(profiles)](const kube::CachedObject& set) {
    const auto all = weak.lock();
    return all ? all->keys_of_set(set.key()) : std::vector<std::string>();
  });
  controller::Manager::enqueue_on(*caches.bindings, queue, [weak = std::weak_ptr(profiles)](const kube::CachedObject& binding) {
    const auto all = weak.lock();
    return all ? all->keys_of_namespace(kube::split_key(binding.key()).ns) : std::vector<std::string>();
  });
}

}  // namespace fleetadm::registration::hub
