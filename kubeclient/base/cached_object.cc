#include "kubeclient/base/cached_object.h"

#include <limits>
#include <string_view>
#include <utility>
#include <zlib.h>

namespace fleetadm::kube {
namespace {

// Bytes. A hub keeps some twenty objects for each cluster and reads few of them at a time.
constexpr std::size_t kDeflateFrom = 512;
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
  if (text.size() > std::numeric_limits<uInt>::max()) return out;
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

std::string inflated(const std::string& packed, std::size_t size) {
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

}  // namespace

CachedObject::CachedObject(std::string key, const Json& object)
    : key_(std::move(key)), resource_version_(resource_version_of(object)), uid_(uid_of(object)) {
  if (fleetadm::find(object, {"metadata", "managedFields"}) != nullptr) {
    Json lean = object;
    erase_at(lean, {"metadata", "managedFields"});
    text_ = dump_json(lean);
  } else {
    text_ = dump_json(object);
  }
  if (text_.size() >= kDeflateFrom) {
    if (std::string packed = deflated(text_); !packed.empty()) {
      plain_size_ = text_.size();
      text_ = std::move(packed);
    }
  }
  text_.shrink_to_fit();
}

Json CachedObject::decode() const {
  // The text is our own dump of a parsed object: it parses.
  auto object = parse_json(plain_size_ == 0 ? text_ : inflated(text_, plain_size_));
  return object ? std::move(*object) : Json::object();
}

}  // namespace fleetadm::kube
