#include "commands/work/selection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::commands {
namespace {

bool refers_to(const Json& set, const std::string& placement) {
  const Json& refs = list_at(set, {"spec", "placementRefs"});
  return std::any_of(refs.begin(), refs.end(), [&](const Json& one) { return str(one, {"name"}) == placement; });
}

Result<std::vector<Json>> sets_named(const kube::Client& hub, const std::string& name, const std::string& ns) {
  std::vector<Json> sets;
  Result<std::optional<Json>> set = hub.find(api::manifest_work_replica_sets(), ns, name);
  if (!set) {
    // A hub without the type has no sets.
    if (set.error().category == Category::kNotFound) return sets;
    return tl::unexpected(on_hub(set.error()));
  }
  if (*set) sets.push_back(std::move(**set));
  if (sets.empty() || label_of(sets.front(), kSplitLabel) != name) return sets;
  FLEETADM_TRY(const Json listed, hub.list(api::manifest_work_replica_sets(), ns, *parts_named(name)));
  sets.clear();
  for (const Json& part : list_at(listed, {"items"})) sets.push_back(part);
  return sets;
}

Result<bool> any_work(const kube::Client& hub, kube::ListOptions which) {
  which.limit = 1;
  bool found = false;
  const Status listed = hub.list_each(api::manifest_works(), {}, which, [&](const Json&) -> Status {
    found = true;
    return fail(Category::kCancelled, "enough");
  });
  if (!listed && !found) return tl::unexpected(on_hub(listed.error()));
  return found;
}

}  // namespace

std::optional<kube::ListOptions> parts_named(const std::string& name) {
  if (name.size() > kMaxSplitName) return std::nullopt;
  kube::ListOptions parts;
  parts.label_selector = std::string(kSplitLabel) + "=" + name;
  return parts;
}

Result<WorkSelection> select_works(const kube::Client& hub, const std::string& name, const std::string& ns,
                                   const std::optional<PlacementRef>& placement) {
  WorkSelection selection;
  selection.name = name;
  FLEETADM_TRY(selection.sets, sets_named(hub, name, placement ? placement->ns : ns));
  if (placement) {
    std::erase_if(selection.sets, [&](const Json& set) { return !refers_to(set, placement->name); });
    if (selection.sets.empty()) {
      return fail(
          Category::kNotFound, "there is no work \"" + name + "\" for placement " + placement->ns + "/" + placement->name,
          NearNames(hub, api::manifest_work_replica_sets(), placement->ns).hint(name, "list works with: fleetadm get works"));
    }
  }
  if (!selection.sets.empty()) {
    std::string owners;
    std::set<std::string> wanted;
    for (const Json& set : selection.sets) {
      owners += (owners.empty() ? "" : ",") + work::owner_label_of(set);
      for (const Json& ref : list_at(set, {"spec", "placementRefs"})) {
        FLEETADM_TRY(const std::vector<std::string> clusters, decided_clusters(hub, {namespace_of(set), str(ref, {"name"})}));
        wanted.insert(clusters.begin(), clusters.end());
      }
    }
    selection.wanted.assign(wanted.begin(), wanted.end());
    selection.which.label_selector = std::string(work::kReplicaSetLabel) + " in (" + owners + ")";
    return selection;
  }
  if (const auto parts = parts_named(name)) {
    selection.which = *parts;
    FLEETADM_TRY(const bool split, any_work(hub, selection.which));
    if (split) return selection;
  }
  selection.which.label_selector.clear();
  selection.which.field_selector = "metadata.name=" + name;
  return selection;
}

Error no_such_work(const kube::Client& hub, const std::string& name, const std::vector<std::string>& clusters) {
  NearNames near(hub, api::manifest_works(), clusters.size() == 1 ? clusters.front() : "");
  return fail(Category::kNotFound, "there is no work \"" + name + "\"" + (clusters.empty() ? "" : " for these clusters"),
              near.hint(name,
                        "list works with: fleetadm get works; for a work that was created for a placement, name its "
                        "namespace with -n"))
      .value();
}

Result<std::vector<Json>> list_works(const kube::Client& hub, const WorkSelection& selection,
                                     const std::vector<std::string>& clusters) {
  std::vector<Json> works;
  const std::set<std::string> only(clusters.begin(), clusters.end());
  const Status listed = hub.list_each(api::manifest_works(), {}, selection.which, [&](Json&& work) -> Status {
    if (only.empty() || only.contains(namespace_of(work))) works.push_back(std::move(work));
    return {};
  });
  if (!listed) return tl::unexpected(on_hub(listed.error()));
  for (Json& work : works) {
    work["apiVersion"] = work::kWorkApiVersion;
    work["kind"] = "ManifestWork";
  }
  std::sort(works.begin(), works.end(), [](const Json& a, const Json& b) {
    return std::pair(namespace_of(a), name_of(a)) < std::pair(namespace_of(b), name_of(b));
  });
  return works;
}

Result<std::vector<Json>> works_called(const kube::Client& hub, const std::string& name,
                                       const std::vector<std::string>& clusters) {
  std::map<std::pair<std::string, std::string>, Json> works;
  std::vector<kube::ListOptions> lists(1);
  lists.front().field_selector = "metadata.name=" + name;
  if (const auto parts = parts_named(name)) lists.push_back(*parts);
  const auto add = [&](const std::string& ns) -> Status {
    for (const kube::ListOptions& which : lists) {
      const Status listed = hub.list_each(api::manifest_works(), ns, which, [&](Json&& work) -> Status {
        std::pair key(namespace_of(work), name_of(work));
        works.insert_or_assign(std::move(key), std::move(work));
        return {};
      });
      if (!listed) return tl::unexpected(on_hub(listed.error()));
    }
    return {};
  };
  if (Status all = add({}); !all) {
    if (all.error().code != 403) return tl::unexpected(all.error());
    for (const std::string& cluster : clusters) FLEETADM_CHECK(add(cluster));
  }
  std::vector<Json> result;
  for (auto& [key, work] : works) result.push_back(std::move(work));
  return result;
}

std::map<std::string, Json> clusters_by_name(const kube::Client& hub, std::vector<std::string>& notes) {
  std::map<std::string, Json> clusters;
  const Status listed = hub.list_each(api::managed_clusters(), {}, {}, [&](Json&& cluster) -> Status {
    std::string name = name_of(cluster);
    clusters.insert_or_assign(std::move(name), std::move(cluster));
    return {};
  });
  if (!listed) {
    notes.push_back("Cannot determine whether the clusters are reachable: " + listed.error().message);
    clusters.clear();
  }
  return clusters;
}

}  // namespace fleetadm::commands
