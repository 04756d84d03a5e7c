#include "core/work/rules/ownership.h"

#include <algorithm>
#include <utility>

#include "core/work/rules/names.h"

namespace fleetadm::work {

Json Owner::reference() const {
  Json reference = Json::object();
  reference["apiVersion"] = kWorkApiVersion;
  reference["kind"] = kAppliedKind;
  reference["name"] = name;
  reference["uid"] = uid;
  return reference;
}

bool has_owner(const Json& object, const Owner& owner) {
  const Json& references = list_at(object, {"metadata", "ownerReferences"});
  return std::any_of(references.begin(), references.end(),
                     [&](const Json& reference) { return str(reference, {"uid"}) == owner.uid; });
}

Json with_owner(const Json& references, const Owner& owner) {
  Json result = references.is_array() ? references : Json::array();
  for (const Json& reference : result) {
    if (str(reference, {"uid"}) == owner.uid) return result;
  }
  result.push_back(owner.reference());
  return result;
}

Json without_owner(const Json& references, const Owner& owner) {
  Json result = Json::array();
  if (!references.is_array()) return result;
  for (const Json& reference : references) {
    if (str(reference, {"uid"}) != owner.uid) result.push_back(reference);
  }
  return result;
}

Json AppliedResource::to_json() const {
  Json entry = Json::object();
  entry["group"] = group;
  entry["version"] = version;
  entry["resource"] = resource;
  if (!ns.empty()) entry["namespace"] = ns;
  entry["name"] = name;
  if (!uid.empty()) entry["uid"] = uid;
  return entry;
}

AppliedResource AppliedResource::from_json(const Json& entry) {
  return {str(entry, {"group"}),     str(entry, {"version"}), str(entry, {"resource"}),
          str(entry, {"namespace"}), str(entry, {"name"}),    str(entry, {"uid"})};
}

bool AppliedResource::same_place(const AppliedResource& other) const {
  return group == other.group && resource == other.resource && ns == other.ns && name == other.name;
}

kube::Resource AppliedResource::kube_resource() const { return {group, version, resource, std::string{}, !ns.empty()}; }

Json inventory_json(std::vector<AppliedResource> resources) {
  std::sort(resources.begin(), resources.end());
  resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
  Json list = Json::array();
  for (const AppliedResource& resource : resources) list.push_back(resource.to_json());
  return list;
}

std::vector<AppliedResource> inventory_of(const Json& applied_work) {
  std::vector<AppliedResource> resources;
  for (const Json& entry : list_at(applied_work, {"status", "appliedResources"})) {
    resources.push_back(AppliedResource::from_json(entry));
  }
  return resources;
}

Removal removal_of(const std::optional<Json>& live, const std::string& uid, const Owner& owner) {
  if (!live || (!uid.empty() && uid_of(*live) != uid)) return Removal::kGone;
  if (!has_owner(*live, owner)) return Removal::kKeep;
  for (const Json& reference : list_at(*live, {"metadata", "ownerReferences"})) {
    if (str(reference, {"kind"}) == kAppliedKind && str(reference, {"uid"}) != owner.uid &&
        kube::parse_api_version(str(reference, {"apiVersion"})).group == kWorkGroup) {
      return Removal::kDropOwner;
    }
  }
  return is_deleting(*live) ? Removal::kWaiting : Removal::kDelete;
}

}  // namespace fleetadm::work
