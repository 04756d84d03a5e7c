// How the hub's controllers write: nothing where nothing differs, and never on the word of a cache alone.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"
#include "kubeclient/watch/mutation_cache.h"

namespace fleetadm::registration::hub {

/// Paths of objects that were made within the last minute: caches may not have them yet. Thread-safe.
class RecentlyMade {
 public:
  void add(std::string path);
  bool contains(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point> made_;
  std::size_t sweep_at_ = 0;
};

/// What every reconciler of the hub's registration works with.
struct Tools {
  kube::Client client;
  std::shared_ptr<Clock> clock;
  std::map<std::string, std::string> labels;                                                // for everything that the hub makes
  std::shared_ptr<kube::MutationCache> clusters = std::make_shared<kube::MutationCache>();  // ManagedClusters as written last
  std::shared_ptr<RecentlyMade> recently_made = std::make_shared<RecentlyMade>();

  /// The object with these labels, where it does not say otherwise itself.
  Json labelled(Json object) const;
  /// Brings an object to `wanted`, labelled: created, or updated (PUT, its resourceVersion as precondition) after a read. A
  /// changed roleRef, which is immutable, is a new object; one that is being deleted is released from our finalizer and made
  /// anew. `cached` only saves requests: where it covers `wanted`, nothing is sent, and where it is null, the object is created
  /// without a read unless this process has just made it.
  Status ensure(const kube::Client& hub, const kube::Resource& resource, const Json& wanted, const kube::CachedPtr& cached) const;
  /// kube::modify_fields() of a ManagedCluster that may have been deleted or made anew since: then nothing is written.
  Status modify_cluster(const Json& known, const std::function<void(Json&)>& change, const std::stop_token& stop,
                        std::string_view subresource = {}) const;
};

/// True where `existing` has all that `wanted` says: its labels and finalizers, and equal rules, subjects, roleRef.
bool covers(const Json& existing, const Json& wanted);

/// Whether Tools::ensure() of an object with these labels would do nothing with this cache entry.
bool settled(const Json& wanted, const kube::CachedPtr& cached);

/// Deletes an object that carries the cluster's label, with its UID as precondition. Absent, foreign or already going: nothing.
Status remove_labelled(const kube::Client& client, const kube::Resource& resource, std::string_view ns, std::string_view name,
                       std::string_view cluster);

/// Deletes those of these objects that the selector selects and that are not going already: in one request where it selects
/// nothing else. That request has no UID as precondition: what gets such a label between the list and it goes as well, so that
/// only labels of the hub's own objects may be selected by, of which the hub makes again what is still wanted.
Status remove_selected(const kube::Client& client, const kube::Resource& resource, std::string_view ns,
                       const std::string& label_selector, const std::set<std::string>& names);

/// Drops finalizers, in one write, with UID and resourceVersion as preconditions. `uid` not empty: only of this very object. An
/// object that is gone is success.
Status drop_finalizers(const kube::Client& client, const kube::Resource& resource, std::string_view ns, std::string_view name,
                       const std::vector<std::string_view>& finalizers, std::string_view uid);

/// metadata of every object of a type in a namespace (PartialObjectMetadata: works can be large). nullopt: the server does
/// not serve the type. A failed or partial list is an error, never a shorter list. `most` > 0: stop after so many.
Result<std::optional<std::vector<Json>>> list_metadata(const kube::Client& client, const kube::Resource& resource,
                                                       std::string_view ns, std::size_t most = 0);

/// True while a ManifestWork is left in a cluster's namespace.
Result<bool> works_left(const kube::Client& client, std::string_view cluster);

/// How soon to look again at what an object that is being deleted waits for: 1 s in the first half minute, then 5 s.
Duration deletion_pause(const Json& object, Instant now);

/// An error that a later try may not meet: it is not worth a condition.
bool is_transient(const Error& error);

}  // namespace fleetadm::registration::hub
