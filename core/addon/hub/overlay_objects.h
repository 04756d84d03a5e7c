// The hub's caches of add-ons, and caches of some more types that only some controllers need.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::addon {

/// Keys of the index that labelled() uses: "<cluster>/<add-on>" by labels.
std::vector<std::string> label_keys(const Json& object);
inline constexpr const char* kByLabels = "labels";

/// Thread-safe.
class OverlayObjects final : public ObjectReader {
 public:
  using Caches = std::map<GroupResource, std::shared_ptr<kube::Informer>>;
  /// `caches` are read instead of `base`; those that labelled() is asked for have the index kByLabels.
  OverlayObjects(std::shared_ptr<const ObjectReader> base, Caches caches) : base_(std::move(base)), caches_(std::move(caches)) {}

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override;
  std::vector<ObjectPtr> addons_named(std::string_view name) const override { return base_->addons_named(name); }
  std::vector<ObjectPtr> labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const override;
  std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const override {
    return base_->addon_works(cluster, addon);
  }
  std::string outsider(const Json& placement, const work::PlacementView& decided) const override {
    return base_->outsider(placement, decided);
  }

 private:
  kube::Informer* cache(const GroupResource& type) const;

  std::shared_ptr<const ObjectReader> base_;
  Caches caches_;
};

}  // namespace fleetadm::addon
