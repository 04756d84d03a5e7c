// The hub's caches as the rules of add-ons read them. What is not synced is never taken for absent: controllers run once the
// caches are there, and of other configuration types knows() tells.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/controller/controller.h"
#include "core/work/hub/bound_sets.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Add-on objects in v1beta1, clusters, placements with their decisions, and the works, rights and accounts of add-ons.
/// Thread-safe.
class CachedObjects final : public ObjectReader {
 public:
  /// Makes the informers. Before Manager::run().
  CachedObjects(controller::Manager& manager, kube::Client hub, std::shared_ptr<Clock> clock = Clock::system());
  ~CachedObjects() override;
  CachedObjects(const CachedObjects&) = delete;
  CachedObjects& operator=(const CachedObjects&) = delete;

  /// Makes the informers by which outsider() tells. Before Manager::run().
  void check_bound_sets(controller::Manager& manager);
  /// The cache of a type that is served from the beginning; of rights, the one of what hub permissions make.
  std::shared_ptr<kube::Informer> informer(const GroupResource& type) const;
  /// The caches of what agents need to get tokens.
  const std::vector<std::shared_ptr<kube::Informer>>& token_informers() const { return token_caches_; }

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
  /// Of their status what roll-outs read: there are many.
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
  using Caches = std::vector<std::shared_ptr<kube::Informer>>;
  void serve(const GroupResource& type, std::shared_ptr<kube::Informer> informer);
  /// What is there of one type can be in several caches, by different labels.
  Caches find(const GroupResource& type) const;
  Result<kube::Resource> readable(const GroupResource& type);

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  kube::Mapper mapper_;
  std::optional<work::BoundSets> bound_sets_;
  mutable std::mutex mutex_;
  std::map<GroupResource, Caches> served_;
  Caches token_caches_;
  std::map<GroupResource, Watched> watched_;
  std::function<void(const GroupResource&)> config_changed_;
};

// "<cluster>/<add-on>" of the add-on that an object belongs to.
std::vector<std::string> addon_keys_of_work(const Json& work);
std::vector<std::string> addon_keys_of_rights(const Json& binding);
std::vector<std::string> addon_keys_of_token(const kube::CachedObject& object);

}  // namespace fleetadm::addon
