#include "core/msa/rules/profile_copy.h"

#include "core/api/cluster_profile.h"
#include "core/msa/rules/not_ours.h"

namespace fleetadm::msa {
namespace {

constexpr const char* kOpaqueType = "Opaque";

/// The reference to the ClusterProfile that a copy is controlled by; null: there is none.
const Json* controlling_profile(const Json& secret) {
  const auto& type = api::cluster_profiles();
  for (const Json& reference : list_at(secret, {"metadata", "ownerReferences"})) {
    const Json* controls = find(reference, {"controller"});
    if (controls != nullptr && *controls == true && str(reference, {"kind"}) == type.kind &&
        kube::parse_api_version(str(reference, {"apiVersion"})).group == type.group)
      return &reference;
  }
  return nullptr;
}

}  // namespace

bool is_copied_to(const Json& profile) {
  return label_of(profile, api::kClusterManagerLabel) == api::kClusterManager &&
         label_of(profile, api::kProfileClusterLabel) == name_of(profile);
}

std::string copy_name(std::string_view cluster, std::string_view account) {
  return std::string(cluster) + "-" + std::string(account);
}

// "a" with "b-c" and "a-b" with "c" have one name: the owner tells them apart.
Status check_copy(const Json& secret, std::string_view cluster, std::string_view account) {
  const std::string what = "Secret " + namespace_of(secret) + "/" + name_of(secret);
  const std::string label = copy_name(cluster, account);
  if (label_of(secret, kSyncedFromLabel) != label) {
    return fail(not_ours(what + " does not have the label " + std::string(kSyncedFromLabel) + "=" + label,
                         "delete it, or use another name for the account"));
  }
  const Json* owner = controlling_profile(secret);
  if (owner == nullptr || str(*owner, {"name"}) != cluster) {
    return fail(not_ours(what + " does not belong to ClusterProfile " + std::string(cluster),
                         "delete it, or use another name for the account"));
  }
  if (str(secret, {"type"}) != kOpaqueType)
    return fail(not_ours(what + " is not of type Opaque", "delete it, or use another name for the account"));
  return {};
}

bool is_owned_by(const Json& secret, const Json& profile) {
  const Json* owner = controlling_profile(secret);
  return owner != nullptr && str(*owner, {"uid"}) == uid_of(profile);
}

Json copy_object(const Json& existing, const Json& profile, std::string_view account, const Json& source) {
  const auto& type = api::cluster_profiles();
  const std::string name = copy_name(name_of(profile), account);
  Json copy = existing.is_object() ? existing : Json::object();
  copy["apiVersion"] = "v1";
  copy["kind"] = "Secret";
  copy["type"] = kOpaqueType;
  at_or_make(copy, {"metadata", "name"}) = name;
  at_or_make(copy, {"metadata", "namespace"}) = namespace_of(profile);
  at_or_make(copy, {"metadata", "labels", kSyncedFromLabel}) = name;
  at_or_make(copy, {"metadata", "ownerReferences"}) = Json::array({{{"apiVersion", type.api_version()},
                                                                    {"kind", type.kind},
                                                                    {"name", name_of(profile)},
                                                                    {"uid", uid_of(profile)},
                                                                    {"controller", true}}});
  copy["data"] = object_at(source, {"data"});
  return copy;
}

std::set<std::string> noted_copies(const Json& profile) {
  std::set<std::string> accounts;
  const auto noted = parse_json(annotation_of(profile, kCopiesAnnotation));
  if (!noted || !noted->is_array()) return accounts;
  for (const Json& one : *noted) {
    if (one.is_string()) accounts.insert(one.get<std::string>());
  }
  return accounts;
}

void note_copies(Json& profile, const std::set<std::string>& accounts) {
  if (accounts.empty()) {
    erase_at(profile, {"metadata", "annotations", kCopiesAnnotation});
  } else {
    at_or_make(profile, {"metadata", "annotations", kCopiesAnnotation}) = dump_json(Json(accounts));
  }
}

}  // namespace fleetadm::msa
