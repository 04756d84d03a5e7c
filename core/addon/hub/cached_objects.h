// The hub's caches as the rules of add-ons read them. What is not synced is never taken for absent: controllers run once the
// caches are there, and of other configuration types knows() tells.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/controller/controller.h"
#include "core/work/hub/bound_sets.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Add-on objects in v1beta1, clusters, placements with their decisions, and the works of add-ons. Thread-safe.
class CachedObjects final : public ObjectReader {
 public:
  /// Makes the informers. Before Manager::run().
  CachedObjects(controller::Manager& manager, kube::Client hub, std::shared_ptr<Clock> clock = Clock::system());
  ~CachedObjects() override;
  CachedObjects(const CachedObjects&) = delete;
  CachedObjects& operator=(const CachedObjects&) = delete;

  /// Makes the informers by which outsider() tells. Before Manager::run().
  void check_bound_sets(controller::Manager& manager);
  /// Serves one more type. Before Manager::run().
  void serve(const GroupResource& type, std::shared_ptr<kube::Informer> informer);
  /// The same of a type that rules ask for by labelled(): adds the index for it to the options.
  void serve_labelled(controller::Manager& manager, const GroupResource& type, const kube::Resource& resource,
                      kube::InformerOptions options = {});
  /// The cache of a type that is served from the beginning; null: it is not.
  std::shared_ptr<kube::Informer> informer(const GroupResource& type) const;

  /// Whether get() and list() tell what is there of a type: its cache is synced.
  bool knows(const GroupResource& type) const;
  /// Called for each object of a watched configuration type that comes, changes or goes, and when such a type is synced; on the
  /// I/O thread. Once, before Manager::run().
  void on_config_change(std::function<void(const GroupResource& type)> handler);
  /// Begins to watch a configuration type unless it is watched already. One that is not served, or that the hub may not read, is
  /// tried again when asked for after a while. It asks the server: not from an I/O thread.
  void watch_configs(const GroupResource& type);

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override;
  std::vector<ObjectPtr> addons_named(std::string_view name) const override;
  /// Their keys ("cluster/name") alone.
  std::vector<std::string> addon_keys_named(std::string_view name) const;
  std::vector<ObjectPtr> labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const override;
  std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const override;
  std::string outsider(const Json& placement, const work::PlacementView& decided) const override;

 private:
  struct Watched {
    std::shared_ptr<kube::Informer> informer;  // null: it cannot be read
    Instant since;
  };
  std::shared_ptr<kube::Informer> find(const GroupResource& type) const;
  Result<kube::Resource> readable(const GroupResource& type);

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  kube::Mapper mapper_;
  std::optional<work::BoundSets> bound_sets_;
  mutable std::mutex mutex_;
  std::map<GroupResource, std::shared_ptr<kube::Informer>> served_;
  std::set<GroupResource> by_labels_;  // served with the index for labelled()
  std::map<GroupResource, Watched> watched_;
  std::function<void(const GroupResource&)> config_changed_;
};

/// "<cluster>/<add-on>" of the add-on that a work belongs to.
std::vector<std::string> addon_keys_of_work(const Json& work);

}  // namespace fleetadm::addon
