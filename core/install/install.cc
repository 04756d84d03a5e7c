#include "core/install/install.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/install/intent.h"
#include "core/install/wait_deleted.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::install {
namespace {

namespace r = kube::resources;

// In the order of removal: what runs, what guards, what grants, what holds data, then the folders and types themselves.
const std::vector<kube::Resource>& removal_order() {
  static const std::vector<kube::Resource> kOrder = {r::deployments(),
                                                     r::services(),
                                                     r::validating_admission_policy_bindings(),
                                                     r::validating_admission_policies(),
                                                     {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true},
                                                     {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
                                                     r::role_bindings(),
                                                     r::roles(),
                                                     r::cluster_role_bindings(),
                                                     r::cluster_roles(),
                                                     r::secrets(),
                                                     r::config_maps(),
                                                     r::service_accounts(),
                                                     r::namespaces(),
                                                     r::custom_resource_definitions()};
  return kOrder;
}

bool is_ours(const Json& object, std::string_view part) { return label_of(object, kPartLabel) == part; }

Change change_of(const Json& object, const kube::Resource& resource, Action action) {
  return Change{resource.kind, namespace_of(object), name_of(object), action, resource.group};
}

bool is_established(const Json& crd) {
  const Json& conditions = list_at(crd, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return str(condition, {"type"}) == "Established" && str(condition, {"status"}) == "True";
  });
}

Status wait_established(const kube::Client& client, const std::string& name, Duration timeout, std::stop_token stop) {
  auto done = [&](const std::optional<Json>& crd) -> Result<bool> {
    if (!crd) return fail(Category::kNotFound, "the CustomResourceDefinition " + name + " was removed while it was waited for");
    for (const Json& condition : list_at(*crd, {"status", "conditions"})) {
      if (str(condition, {"type"}) == "NamesAccepted" && str(condition, {"status"}) == "False") {
        return fail(Category::kConflict, "the names of " + name + " are taken: " + str(condition, {"message"}));
      }
    }
    return is_established(*crd);
  };
  auto waited = kube::wait_for(client, r::custom_resource_definitions(), "", name, done, timeout, stop);
  if (!waited) return fail(waited.error().wrap("waiting for " + name + " to be established"));
  return {};
}

Duration left(Instant deadline) {
  const auto now = Clock::system()->now();
  return deadline > now ? deadline - now : Duration::zero();
}

/// Whether an apply changed what is asked for. Not by the resource version: a controller of the server (the aggregation of
/// cluster roles, a Deployment's status) may write the same object between our read and our write.
bool same_intent(Json before, Json after) {
  for (Json* object : {&before, &after}) {
    Json& metadata = at_or_make(*object, {"metadata"});
    metadata.erase("resourceVersion");
    metadata.erase("managedFields");
    object->erase("status");
  }
  return before == after;
}

/// An object that this run creates, as a server speaks of it that misses it.
struct Coming {
  std::string missed;  // `namespaces "a" not found`
  std::string text;    // `Namespace "a"`
};

/// Which of them a server missed because a dry run did not create it; else empty.
std::string missed_of(const Error& error, const std::vector<Coming>& coming) {
  if (error.category != Category::kNotFound) return {};
  const auto found = std::find_if(coming.begin(), coming.end(),
                                  [&](const Coming& one) { return error.message.find(one.missed) != std::string::npos; });
  return found == coming.end() ? std::string() : found->text;
}

/// What a run of apply_all() knows of what it applied.
struct Applied {
  std::vector<Coming> coming;
  std::set<std::string> new_namespaces;    // nothing of others is in them
  std::vector<std::string> unestablished;  // CustomResourceDefinitions
};

Result<Change> apply_one(const kube::Client& client, Json object, const Options& options, Applied& applied) {
  FLEETADM_TRY(const kube::Resource resource, resource_of(object));
  const std::string ns = namespace_of(object);
  const std::string name = name_of(object);
  at_or_make(object, {"metadata", "labels", kPartLabel}) = options.part;
  std::optional<Json> before;
  if (!options.fresh && (ns.empty() || !applied.new_namespaces.contains(ns))) {
    FLEETADM_TRY(before, client.find(resource, ns, name));
  }
  if (before && !is_ours(*before, options.part)) return change_of(*before, resource, Action::kKeptForeign);
  if (before && is_deleting(*before)) {
    return fail(Category::kConflict, resource.kind + " " + kube::object_key(ns, name) + " is being deleted",
                "wait until it is gone and run the command again");
  }
  Change change{resource.kind, ns, name, Action::kCreated, resource.group};
  const kube::DryRun dry_run = client.gate().dry_run;
  if (before && dry_run == kube::DryRun::kClient) {
    change.action = would_change(*before, object, client.gate().field_manager) ? Action::kConfigured : Action::kUnchanged;
    return change;
  }
  kube::WriteOptions write;
  write.force = true;
  auto after = client.apply(resource, object, write);
  if (!after && dry_run == kube::DryRun::kServer && !before) {
    if (const std::string missed = missed_of(after.error(), applied.coming); !missed.empty()) {
      change.unchecked = missed + " does not exist yet";
      return change;
    }
  }
  if (!after) return fail(after.error().wrap("cannot apply " + resource.kind + " " + kube::object_key(ns, name)));
  if (resource == r::custom_resource_definitions() && !is_established(*after)) applied.unestablished.push_back(name);
  if (before) {
    change.action = same_intent(*before, *std::move(after)) ? Action::kUnchanged : Action::kConfigured;
  } else {
    if (resource == r::namespaces() && dry_run == kube::DryRun::kNone) applied.new_namespaces.insert(name);
    applied.coming.push_back({resource.qualified() + " \"" + name + "\" not found", resource.kind + " \"" + name + "\""});
  }
  return change;
}

}  // namespace

std::string_view to_string(Action action) {
  switch (action) {
    case Action::kCreated: return "created";
    case Action::kConfigured: return "configured";
    case Action::kUnchanged: return "unchanged";
    case Action::kKeptForeign: return "kept (not ours)";
    case Action::kDeleted: return "deleted";
  }
  return "";
}

std::vector<kube::Resource> installed_kinds() { return removal_order(); }

Result<kube::Resource> resource_of(const Json& object) {
  const std::string kind = str(object, {"kind"});
  const std::string api_version = str(object, {"apiVersion"});
  for (const kube::Resource& resource : removal_order()) {
    if (resource.kind == kind && resource.api_version() == api_version) return resource;
  }
  return fail(Category::kInternal, "fleetadm does not install objects of " + api_version + " " + kind);
}

Result<std::vector<Change>> apply_all(const kube::Client& client, std::vector<Json> objects, const Options& options) {
  const Instant deadline = Clock::system()->now() + options.timeout;
  std::vector<Change> changes;
  Applied applied;
  for (Json& object : objects) {
    FLEETADM_TRY(Change change, apply_one(client, std::move(object), options, applied));
    if (options.told) options.told(change);
    changes.push_back(std::move(change));
  }
  if (client.gate().dry_run == kube::DryRun::kNone) {
    for (const std::string& name : applied.unestablished)
      FLEETADM_CHECK(wait_established(client, name, left(deadline), options.stop));
  }
  return changes;
}

Result<std::vector<Change>> remove_part(const kube::Client& client, const Options& options) {
  const Instant deadline = Clock::system()->now() + options.timeout;
  std::vector<Change> changes;
  kube::ListOptions which;
  which.label_selector = std::string(kPartLabel) + "=" + options.part;
  std::set<std::string> going;
  if (options.with_namespaces) {
    const auto found = client.list(r::namespaces(), "", which);
    if (!found) return fail(found.error().wrap("cannot list what is left of " + r::namespaces().qualified()));
    for (const Json& ns : list_at(*found, {"items"})) going.insert(name_of(ns));
  }
  for (const kube::Resource& resource : removal_order()) {
    const bool whole = options.ns.empty();
    if (!whole && !resource.namespaced && resource != r::namespaces()) continue;
    which.field_selector = whole || resource.namespaced ? std::string() : "metadata.name=" + options.ns;
    auto found = client.list(resource, resource.namespaced ? options.ns : std::string(), which);
    if (!found) return fail(found.error().wrap("cannot list what is left of " + resource.qualified()));
    Json objects = list_at(*found, {"items"});
    // The server's aggregation would make such a role anew, as nobody's, when it sees one go that it sums up.
    std::stable_partition(objects.begin(), objects.end(),
                          [](const Json& object) { return find(object, {"aggregationRule"}) != nullptr; });
    std::vector<Json> removed_objects;
    for (const Json& object : objects) {
      if (options.keep) {
        FLEETADM_TRY(const bool keep, options.keep(resource, object));
        if (keep) {
          changes.push_back(change_of(object, resource, Action::kKeptForeign));
          if (options.told) options.told(changes.back());
          continue;
        }
      }
      Change change = change_of(object, resource, Action::kDeleted);
      if (resource != r::deployments() && going.contains(namespace_of(object))) {
        if (options.told) options.told(change);
        changes.push_back(std::move(change));
        continue;
      }
      kube::DeleteOptions how;
      // Foreground: a Deployment is gone only when its pods are, so nothing of ours still runs when its rights go.
      how.propagation = resource.kind == "Deployment" ? kube::Propagation::kForeground : kube::Propagation::kBackground;
      how.uid = uid_of(object);
      auto removed = client.remove(resource, namespace_of(object), name_of(object), how);
      if (!removed && removed.error().category != Category::kNotFound) {
        return fail(removed.error().wrap("cannot delete " + resource.kind + " " + kube::object_key(object)));
      }
      if (options.told) options.told(change);
      changes.push_back(std::move(change));
      removed_objects.push_back(object);
    }
    if (client.gate().dry_run != kube::DryRun::kNone) continue;
    for (const Json& object : removed_objects) {
      if (Status gone = wait_deleted(client, resource, object, left(deadline), options.stop); !gone) {
        return fail(gone.error().wrap(resource.kind + " " + kube::object_key(object) + " is still being deleted"));
      }
    }
  }
  return changes;
}

Json to_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) {
    Json entry{{"kind", change.kind}, {"name", change.name}, {"action", std::string(to_string(change.action))}};
    if (!change.ns.empty()) entry["namespace"] = change.ns;
    if (!change.unchecked.empty()) entry["unchecked"] = change.unchecked;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fleetadm::install
