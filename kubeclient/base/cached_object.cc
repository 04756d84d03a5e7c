#include "kubeclient/base/cached_object.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <zlib.h>

namespace fleetadm::kube {
namespace {

// Bytes. A hub keeps some twenty objects for each cluster and reads few of them at a time.
constexpr std::size_t kDeflateFrom = 512;
constexpr std::uint32_t kMostDeflated = 0x7fff'ffff;  // of which the size is kept
// What objects of fleets have in common, the commonest at the end: short texts would else hold nothing to refer back to. Both
// ends are this process, so it may be changed at will.
constexpr std::string_view kDictionary =
    R"(,"rules":[{"apiGroups":[""],"resources":["secrets","configmaps"],"verbs":["get","list","watch","create","update","patch","delete"]}])"
    R"(,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")"
    R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:open-cluster-management:)"
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"annotations":{)"
    R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
    R"("spec":{"leaseDurationSeconds":60,"renewTime":"2026-01-01T00:00:00.000000Z"}})"
    R"({"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{)"
    R"("hubAcceptsClient":true,"leaseDurationSeconds":60,"managedClusterClientConfigs":[{"caBundle":")"
    R"("allocatable":{"cpu":"4","memory":"16Gi","pods":"110"},"capacity":{"version":{"kubernetes":"v1.)"
    R"("clusterClaims":[{"name":"id.k8s.io","value":"cluster.open-cluster-management.io/clusterset":"default")"
    R"({"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"workload":{"manifests":[)"
    R"("resourceStatus":{"manifests":[{"resourceMeta":{"group":"","kind":"","name":"","namespace":"","ordinal":0,)"
    R"("statusFeedback":{"values":[{"fieldValue":{"integer":1,"type":"Integer"},"name":"ReadyReplicas"}]})"
    R"({"apiVersion":"addon.open-cluster-management.io/v1beta1","kind":"ManagedClusterAddOn","metadata":{)"
    R"("configReferences":[{"desiredConfig":{"specHash":"","lastAppliedConfig":{"lastObservedGeneration":1,)"
    R"("registrations":[{"driver":"","kubeClient":{"subject":{"groups":["system:open-cluster-management:addon:)"
    R"("supportedConfigs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs"}],"namespace":")"
    R"("blockOwnerDeletion":true,"controller":true,"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":"}],)"
    R"("finalizers":["cluster.open-cluster-management.io/"],"generation":1,"labels":{"open-cluster-management.io/addon-name":")"
    R"(,"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"","observedGeneration":1,"reason":"",)"
    R"("status":"True","type":"Available"},{"lastTransitionTime":"2026-)"
    R"("metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","name":"","namespace":"","resourceVersion":"1","uid":")";
// As little memory as an object of this size needs: the state is made anew for each.
constexpr int kWindowBits = -12;  // raw
constexpr int kMemLevel = 5;

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib reads its input only
}

/// Empty where it cannot be done, or does not help.
std::string deflated(const std::string& text) {
  std::string out;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemLevel, Z_DEFAULT_STRATEGY) != Z_OK) return out;
  if (deflateSetDictionary(&stream, bytes_of(kDictionary), static_cast<uInt>(kDictionary.size())) != Z_OK) {
    deflateEnd(&stream);
    return out;
  }
  out.resize(text.size());
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

std::string inflated(std::string_view packed, std::size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, kWindowBits) != Z_OK) return {};
  stream.next_in = bytes_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = inflateSetDictionary(&stream, bytes_of(kDictionary), static_cast<uInt>(kDictionary.size())) == Z_OK &&
                    inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  return done ? out : std::string();
}

/// As caches file it.
struct Name {
  std::string_view ns;
  std::string_view name;
};
Name name_in(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

bool names(std::string_view key, const Json& object) {
  const Name name = name_in(key);
  return !name.name.empty() && name.name == name_of(object) && name.ns == namespace_of(object);
}

std::uint32_t size_of(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }  // answers are bounded

/// What the block has beside the text.
void drop_identity(Json& object, bool is_named_by_key) {
  erase_at(object, {"metadata", "managedFields"});
  if (!resource_version_of(object).empty()) erase_at(object, {"metadata", "resourceVersion"});
  if (!uid_of(object).empty()) erase_at(object, {"metadata", "uid"});
  if (!is_named_by_key) return;
  erase_at(object, {"metadata", "name"});
  if (!namespace_of(object).empty()) erase_at(object, {"metadata", "namespace"});
}

}  // namespace

CachedObject::CachedObject(std::string key, Json object) : key_(std::move(key)) {
  const std::string version = resource_version_of(object);
  const std::string uid = uid_of(object);
  is_named_by_key_ = names(key_, object);
  drop_identity(object, is_named_by_key_);
  std::string text = dump_json(object);
  if (text.size() >= kDeflateFrom && text.size() <= kMostDeflated) {
    if (std::string packed = deflated(text); !packed.empty()) {
      plain_size_ = size_of(text) & kMostDeflated;
      text = std::move(packed);
    }
  }
  version_size_ = size_of(version);
  uid_size_ = size_of(uid);
  text_size_ = size_of(text);
  block_ = std::make_unique_for_overwrite<char[]>(version.size() + uid.size() + text.size());
  char* at = block_.get();
  for (const std::string_view part : {std::string_view(version), std::string_view(uid), std::string_view(text)})
    at = std::copy(part.begin(), part.end(), at);
}

Json CachedObject::decode() const {
  // The text is our own dump of a parsed object: it parses.
  auto parsed = plain_size_ == 0 ? parse_json(text()) : parse_json(inflated(text(), plain_size_));
  Json object = parsed ? std::move(*parsed) : Json::object();
  const auto put = [&object](const char* member, std::string_view value) {
    if (!value.empty()) object["metadata"][member] = std::string(value);
  };
  put("resourceVersion", resource_version());
  put("uid", uid());
  if (!is_named_by_key_) return object;
  const Name name = name_in(key_);
  put("namespace", name.ns);
  put("name", name.name);
  return object;
}

}  // namespace fleetadm::kube
