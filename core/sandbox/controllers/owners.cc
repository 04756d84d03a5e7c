#include "core/sandbox/controllers/owners.h"

#include <algorithm>

namespace fleetadm::sandbox {
namespace {

std::set<std::string> owner_uids(const Json& object) {
  std::set<std::string> out;
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) out.insert(str(owner, {"uid"}));
  return out;
}

KindPtr kind_at(const ControllerContext& context, const std::string& storage) {
  const auto slash = storage.rfind('/');
  return context.engine.kinds().find_plural(storage.substr(0, slash), storage.substr(slash + 1));
}

void drop_finalizer(const ControllerContext& context, const Kind& kind, const Json& object, const std::string& finalizer) {
  change(context, kind, object, as_controller("generic-garbage-collector"), [&](Json& next) {
    auto finalizers = string_list_at(next, {"metadata", "finalizers"});
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), finalizer), finalizers.end());
    if (finalizers.empty()) {
      erase_at(next, {"metadata", "finalizers"});
    } else {
      at_or_make(next, {"metadata", "finalizers"}) = finalizers;
    }
  });
}

void drop_owners(const ControllerContext& context, const Kind& kind, const Json& object, const std::set<std::string>& uids) {
  change(context, kind, object, as_controller("generic-garbage-collector"), [&](Json& next) {
    Json kept = Json::array();
    for (const Json& owner : list_at(next, {"metadata", "ownerReferences"})) {
      if (!uids.contains(str(owner, {"uid"}))) kept.push_back(owner);
    }
    if (kept.empty()) {
      erase_at(next, {"metadata", "ownerReferences"});
    } else {
      at_or_make(next, {"metadata", "ownerReferences"}) = std::move(kept);
    }
  });
}

void orphan(const ControllerContext& context, const Kind& kind, const Json& object, const GarbageView& view) {
  for (const auto& key : view.dependents) {
    const auto row = kind_at(context, key.storage);
    if (!row) continue;
    if (const auto dependent = context.engine.get(*row, key.ns, key.name))
      drop_owners(context, *row, *dependent, {uid_of(object)});
  }
  drop_finalizer(context, kind, object, "orphan");
}

void delete_foreground(const ControllerContext& context, const Kind& kind, const Json& object, const GarbageView& view) {
  bool blocked = false;
  for (const auto& key : view.dependents) {
    const auto row = kind_at(context, key.storage);
    if (!row) continue;
    const auto dependent = context.engine.get(*row, key.ns, key.name);
    if (!dependent) continue;
    for (const Json& owner : list_at(*dependent, {"metadata", "ownerReferences"})) {
      if (str(owner, {"uid"}) == uid_of(object) && flag(owner, {"blockOwnerDeletion"})) blocked = true;
    }
    if (!is_deleting(*dependent)) remove(context, *row, *dependent, "Foreground");
  }
  // What went at once is no longer in the store; its removal calls this again.
  if (!blocked) drop_finalizer(context, kind, object, "foregroundDeletion");
}

}  // namespace

std::set<ObjectKey> OwnerGraph::written(const ObjectKey& key, const Json& object) {
  std::set<ObjectKey> again;
  const auto at = nodes_.try_emplace(key).first;
  Node& node = at->second;
  const auto uid = uid_of(object);
  if (node.uid != uid) {
    if (!node.uid.empty()) {
      by_uid_.erase(node.uid);
      again = dependents(node.uid);
    }
    node.uid = uid;
    by_uid_.erase(node.uid);  // its key would be the text of another node
    by_uid_.emplace(node.uid, &at->first);
  }
  auto owners = owner_uids(object);
  for (const auto& gone : node.owners) {
    if (owners.contains(gone)) continue;
    const auto list = dependents_.find(gone);
    if (list == dependents_.end()) continue;
    list->second.erase(key);
    if (list->second.empty()) dependents_.erase(list);
  }
  for (const auto& owner : owners) dependents_[owner].insert(key);
  node.owners = std::move(owners);
  if (!node.owners.empty() || is_deleting(object)) again.insert(key);
  return again;
}

std::set<ObjectKey> OwnerGraph::removed(const ObjectKey& key) {
  std::set<ObjectKey> again;
  const auto at = nodes_.find(key);
  if (at == nodes_.end()) return again;
  by_uid_.erase(at->second.uid);
  again = dependents(at->second.uid);
  for (const auto& owner : at->second.owners) {
    if (const auto list = dependents_.find(owner); list != dependents_.end()) {
      list->second.erase(key);
      if (list->second.empty()) dependents_.erase(list);
    }
    if (const auto found = by_uid_.find(owner); found != by_uid_.end()) again.insert(*found->second);  // it may wait for this one
  }
  nodes_.erase(at);
  return again;
}

bool OwnerGraph::exists(const std::string& uid, const std::string& ns) const {
  const auto at = by_uid_.find(uid);
  return at != by_uid_.end() && (at->second->ns.empty() || at->second->ns == ns);
}

std::set<ObjectKey> OwnerGraph::dependents(const std::string& uid) const {
  const auto at = dependents_.find(uid);
  return at == dependents_.end() ? std::set<ObjectKey>() : at->second;
}

GarbageView view_of(const OwnerGraph& graph, const ObjectKey& key, const Json& object) {
  GarbageView out;
  for (const auto& owner : owner_uids(object)) {
    if (!graph.exists(owner, key.ns)) out.absent_owners.insert(owner);
  }
  out.dependents = graph.dependents(uid_of(object));
  return out;
}

void collect_garbage(const ControllerContext& context, const Kind& kind, const Json& object, const GarbageView& view) {
  const auto owners = owner_uids(object);
  if (is_deleting(object)) {
    if (has_finalizer(object, "orphan")) return orphan(context, kind, object, view);
    if (has_finalizer(object, "foregroundDeletion")) return delete_foreground(context, kind, object, view);
    return;
  }
  if (view.absent_owners.empty()) return;
  if (view.absent_owners.size() == owners.size()) {
    remove(context, kind, object);
  } else {
    drop_owners(context, kind, object, view.absent_owners);
  }
}

}  // namespace fleetadm::sandbox
