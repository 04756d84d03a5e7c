#include "core/install/undo.h"

#include <algorithm>

namespace fleetadm::install {
namespace {

Status undo_one(const kube::Client& client, std::string_view part, const Change& change) {
  const auto kinds = installed_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const kube::Resource& one) { return one.kind == change.kind && one.group == change.group; });
  if (kind == kinds.end()) return {};
  FLEETADM_TRY(const auto object, client.find(*kind, change.ns, change.name));
  if (!object || label_of(*object, kPartLabel) != part) return {};
  kube::DeleteOptions how;
  how.propagation = kube::Propagation::kBackground;
  how.uid = uid_of(*object);
  const auto removed = client.remove(*kind, change.ns, change.name, how);
  if (!removed && removed.error().category != Category::kNotFound) return fail(removed.error());
  return {};
}

}  // namespace

std::vector<std::string> undo_created(const kube::Client& client, std::string_view part, const std::vector<Change>& changes) {
  std::vector<std::string> left;
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->action != Action::kCreated) continue;
    if (!undo_one(client, part, *change)) left.push_back(change->kind + " " + kube::object_key(change->ns, change->name));
  }
  return left;
}

}  // namespace fleetadm::install
