// Objects as the hub's caches have them, and those that a pass has to know although the caches do not show them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/pass.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// The caches hold what is labelled with an add-on. An object without the label can still be in the way of one that is to be
/// created: it is another's, or somebody removed the label. Such names are asked for at the server.
class LiveObjects final : public ObjectReader {
 public:
  explicit LiveObjects(const ObjectReader& cache) : cache_(cache) {}

  /// Reads those that the cache does not show; the others, and those that are not there, are taken out of `unseen`.
  Status read(const kube::Client& hub, std::set<ObjectRef>& unseen);

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override;
  std::vector<ObjectPtr> addons_named(std::string_view name) const override { return cache_.addons_named(name); }
  std::vector<ObjectPtr> labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const override {
    return cache_.labelled(type, cluster, addon);
  }
  std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const override;
  std::string outsider(const Json& placement, const work::PlacementView& decided) const override {
    return cache_.outsider(placement, decided);
  }

 private:
  const ObjectReader& cache_;
  std::map<ObjectRef, ObjectPtr> read_;
};

}  // namespace fleetadm::addon
