#include "commands/work/writing.h"

#include <utility>

#include "commands/work/selection.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"

namespace fleetadm::commands {
namespace {

Error exists(const std::string& what) {
  return fail(Category::kConflict, what + " already exists", "change it with fleetadm work apply, or add --overwrite").value();
}

}  // namespace

Result<Written> write_work(const kube::Client& hub, const kube::Resource& resource, const Json& wanted,
                           std::string_view manifests_of, bool overwrite, const std::string& what,
                           const std::function<Status(Json&)>& check) {
  const std::string ns = namespace_of(wanted);
  const std::string name = name_of(wanted);
  FLEETADM_TRY(std::optional<Json> existing, hub.find(resource, ns, name));
  if (!existing) {
    Result<Json> created = hub.create(resource, ns, wanted);
    if (created) return Written{std::move(*created), "created"};
    if (created.error().reason != "AlreadyExists") return tl::unexpected(created.error());
    FLEETADM_TRY(existing, hub.find(resource, ns, name));
  }
  if (!existing) return fail(Category::kConflict, what + " was created and deleted by someone else in the meantime", "try again");
  if (is_deleting(*existing)) return fail(Category::kConflict, what + " is being deleted", "wait until it has been deleted");
  const auto change = [&](Json& object) -> Status {
    FLEETADM_CHECK(check(object));
    if (const std::string whole = label_of(wanted, kSplitLabel); !whole.empty())
      at_or_make(object, {"metadata", "labels", kSplitLabel}) = whole;
    const std::string path(manifests_of);
    Json& spec = path.empty() ? at_or_make(object, {"spec"}) : at_or_make(object, {"spec", path});
    const Json& from = path.empty() ? object_at(wanted, {"spec"}) : object_at(wanted, {"spec", path});
    at_or_make(spec, {"workload", "manifests"}) = list_at(from, {"workload", "manifests"});
    return {};
  };
  if (!overwrite) {
    // The same call again changes nothing, and is no conflict.
    Json same = *existing;
    FLEETADM_CHECK(change(same));
    if (same != *existing) return tl::unexpected(exists(what));
    return Written{std::move(same), "unchanged"};
  }
  FLEETADM_TRY(Json after, hub.modify(resource, ns, name, change));
  // Not by its version: a dry run leaves that as it is.
  const bool changed = object_at(after, {"spec"}) != object_at(*existing, {"spec"}) ||
                       object_at(after, {"metadata", "labels"}) != object_at(*existing, {"metadata", "labels"});
  return Written{std::move(after), changed ? "configured" : "unchanged"};
}

Json work_object(const std::string& name, const std::string& cluster, const Json& manifests, const std::string& split_of) {
  Json work = Json::object({{"apiVersion", work::kWorkApiVersion}, {"kind", "ManifestWork"}});
  work["metadata"] = Json::object({{"name", name}, {"namespace", cluster}});
  if (!split_of.empty()) at_or_make(work, {"metadata", "labels", kSplitLabel}) = split_of;
  at_or_make(work, {"spec", "workload", "manifests"}) = manifests;
  return work;
}

Json set_object(const std::string& name, const PlacementRef& placement, const Json& manifests, const std::string& split_of) {
  Json set = Json::object({{"apiVersion", "work.open-cluster-management.io/v1alpha1"}, {"kind", "ManifestWorkReplicaSet"}});
  set["metadata"] = Json::object({{"name", name}, {"namespace", placement.ns}});
  if (!split_of.empty()) at_or_make(set, {"metadata", "labels", kSplitLabel}) = split_of;
  at_or_make(set, {"spec", "manifestWorkTemplate", "workload", "manifests"}) = manifests;
  at_or_make(set, {"spec", "placementRefs"}) = Json::array({Json::object({{"name", placement.name}})});
  return set;
}

Status not_of_a_set(const Json& work) {
  const std::string owner = label_of(work, work::kReplicaSetLabel);
  if (owner.empty()) return {};
  const std::size_t dot = owner.find('.');
  return fail(Category::kUsage,
              "work " + name_of(work) + " for cluster " + namespace_of(work) + " belongs to ManifestWorkReplicaSet " +
                  owner.substr(0, dot) + "/" + (dot == std::string::npos ? "" : owner.substr(dot + 1)),
              "to change the ManifestWorkReplicaSet, use --placement");
}

}  // namespace fleetadm::commands
