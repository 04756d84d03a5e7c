// Works as the hub's caches have them, and those that a pass has to know although the caches do not show them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// The caches hold the works that are labelled with an add-on. A work without the label can still be in the way of one that is to
/// be created: it is another's, or somebody removed the label. Such names are asked for at the server, here once each.
class LiveWorks final : public ObjectReader {
 public:
  explicit LiveWorks(const ObjectReader& cache) : cache_(cache) {}

  /// Reads those of `keys` ("ns/name") that the cache does not show.
  Status read(const kube::Client& hub, const std::set<std::string>& keys);

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override;
  std::vector<ObjectPtr> addons_named(std::string_view name) const override { return cache_.addons_named(name); }
  std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const override;
  std::string outsider(const Json& placement, const work::PlacementView& decided) const override {
    return cache_.outsider(placement, decided);
  }

 private:
  const ObjectReader& cache_;
  std::map<std::string, ObjectPtr> read_;
};

}  // namespace fleetadm::addon
