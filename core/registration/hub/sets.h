// Cluster sets: the two that always exist, how many clusters each selects, and whether bindings have their set
// (docs/reference/registration.md#cluster-set-conditions; docs/reference/ocm-api.md#cluster-sets,
// docs/reference/ocm-api.md#cluster-set-bindings).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/controller/controller.h"
#include "core/registration/hub/objects.h"
#include "kubeclient/base/selector.h"

namespace fleetadm::registration::hub {

/// The labels of all clusters: what set membership depends on, without decoding clusters again and again. Thread-safe.
class ClusterLabels {
 public:
  /// To be called for each event of the clusters' informer. True where labels changed; `sets` gets the set labels before and
  /// after.
  bool observe(kube::EventType type, const kube::CachedObject& cluster, std::vector<std::string>& sets);
  std::size_t count_in_set(const std::string& set) const;
  std::size_t count_matching(const Selector& selector) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Labels> by_cluster_;
};

/// The spec of "default" and "global"; null for other names.
Json standard_set_spec(const std::string& name);
/// A set of that name may be brought back to its standard selector.
bool may_restore(const Json& set);
bool set_member_count(Json& set, std::size_t count, Instant now);
bool set_bound(Json& binding, bool set_exists, Instant now);
/// The set's selector is by free labels (any label change may matter).
bool selects_by_labels(const Json& set);

/// Makes and restores "default" and "global". `key` is the set's name.
class StandardSetsController {
 public:
  StandardSetsController(Tools tools, std::shared_ptr<kube::Informer> sets) : tools_(std::move(tools)), sets_(std::move(sets)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> sets_;
};

/// ClusterSetEmpty of each set. `key` is the set's name, or kLabelSets: all sets that select by labels.
class SetStatusController {
 public:
  static constexpr const char* kLabelSets = "*";
  SetStatusController(Tools tools, std::shared_ptr<kube::Informer> sets, std::shared_ptr<ClusterLabels> labels)
      : tools_(std::move(tools)), sets_(std::move(sets)), labels_(std::move(labels)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  std::size_t count(const Json& set) const;
  Status report(const kube::Client& client, const std::string& name);

  Tools tools_;
  std::shared_ptr<kube::Informer> sets_;
  std::shared_ptr<ClusterLabels> labels_;
};

/// Bound of each ManagedClusterSetBinding. `key` is "ns/name".
class BindingStatusController {
 public:
  BindingStatusController(Tools tools, std::shared_ptr<kube::Informer> bindings, std::shared_ptr<kube::Informer> sets)
      : tools_(std::move(tools)), bindings_(std::move(bindings)), sets_(std::move(sets)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> bindings_;
  std::shared_ptr<kube::Informer> sets_;
};

}  // namespace fleetadm::registration::hub
