// Garbage collection by ownerReferences (docs/reference/kubernetes-api.md#garbage-collection): who exists, who depends on whom.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {

struct ObjectKey {
  std::string storage;
  std::string ns;
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};

/// Not locked: its owner does.
class OwnerGraph {
 public:
  /// An object as it is now. Answers the objects that have to be looked at again.
  std::set<ObjectKey> written(const ObjectKey& key, const Json& object);
  std::set<ObjectKey> removed(const ObjectKey& key);

  /// The owner is there for dependents in `ns`.
  bool exists(const std::string& uid, const std::string& ns) const;
  std::set<ObjectKey> dependents(const std::string& uid) const;

 private:
  struct Node {
    std::string uid;
    std::set<std::string> owners;  // uids
  };
  std::map<ObjectKey, Node> nodes_;
  std::map<std::string_view, const ObjectKey*> by_uid_;    // of nodes_, whose text it uses
  std::map<std::string, std::set<ObjectKey>> dependents_;  // by the owner's uid
};

/// What the graph said of one object when it was asked.
struct GarbageView {
  std::set<std::string> absent_owners;
  std::set<ObjectKey> dependents;
};
GarbageView view_of(const OwnerGraph& graph, const ObjectKey& key, const Json& object);

/// Deletes the object where all its owners are gone, drops references to those that are, and finishes orphaning and foreground
/// deletions.
void collect_garbage(const ControllerContext& context, const Kind& kind, const Json& object, const GarbageView& view);

}  // namespace fleetadm::sandbox
