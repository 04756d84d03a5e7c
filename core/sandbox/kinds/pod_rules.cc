// Pods: what the server gives one that is made, and what may change of it.
#include <algorithm>

#include "core/sandbox/kinds/kind_steps.h"
#include "core/sandbox/kinds/pod_checks.h"
#include "core/sandbox/quota/limits.h"
#include "core/sandbox/quota/usage.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

const char* const kTokenMount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The service account's token, the CA and the namespace, mounted where clients in pods look for them.
ApiStatus mount_account(const StrategyContext& context, Json& pod) {
  const auto ns = namespace_of(pod);
  const auto account = str(pod, {"spec", "serviceAccountName"});
  const auto stored = context.engine.store().get("/serviceaccounts", ns, account);
  if (!stored)
    return forbidden(context.kind, name_of(pod),
                     "error looking up service account " + ns + "/" + account + ": serviceaccount \"" + account + "\" not found");
  if (!flag(pod, {"spec", "automountServiceAccountToken"}, flag(stored->json(), {"automountServiceAccountToken"}, true)))
    return {};
  const auto volume = "kube-api-access-" + random_suffix(5);
  bool used = false;
  for (const char* list : {"initContainers", "containers"}) {
    const auto at = pod["spec"].find(list);
    if (at == pod["spec"].end() || !at->is_array()) continue;
    for (Json& container : *at) {
      Json& mounts = at_or_make(container, {"volumeMounts"});
      if (!mounts.is_array()) mounts = Json::array();
      if (std::any_of(mounts.begin(), mounts.end(), [](const Json& one) { return str(one, {"mountPath"}) == kTokenMount; }))
        continue;
      mounts.push_back({{"name", volume}, {"mountPath", kTokenMount}, {"readOnly", true}});
      used = true;
    }
  }
  if (!used) return {};
  const Json token = {{"serviceAccountToken", {{"expirationSeconds", 3607}, {"path", "token"}}}};
  const Json ca = {
      {"configMap", {{"name", "kube-root-ca.crt"}, {"items", Json::array({{{"key", "ca.crt"}, {"path", "ca.crt"}}})}}}};
  const Json where = {{"path", "namespace"}, {"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}}}};
  const Json downward = {{"downwardAPI", {{"items", Json::array({where})}}}};
  Json& volumes = at_or_make(pod, {"spec", "volumes"});
  if (!volumes.is_array()) volumes = Json::array();
  volumes.push_back({{"name", volume}, {"projected", {{"defaultMode", 420}, {"sources", Json::array({token, ca, downward})}}}});
  return {};
}

}  // namespace

Strategy pod_strategy() {
  Strategy out;
  out.defaults = [](Json& pod) {
    set_default(pod, {"spec", "serviceAccountName"}, "default");
    set_default(pod, {"spec", "serviceAccount"}, str(pod, {"spec", "serviceAccountName"}));
    set_default(pod, {"status", "phase"}, "Pending");
  };
  out.grace_seconds = [](const Json& pod, std::optional<std::int64_t> asked) -> std::int64_t {
    const auto phase = str(pod, {"status", "phase"});
    if (str(pod, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") return 0;
    const auto grace = asked.value_or(num(pod, {"spec", "terminationGracePeriodSeconds"}, 30));
    return grace < 0 ? 1 : grace;
  };
  out.create = [](const StrategyContext& context, Json& pod) -> ApiStatus {
    const auto ns = namespace_of(pod);
    FLEETADM_CHECK(complete_pod(context, pod));
    if (context.engine.store().count("/limitranges", ns) > 0)
      quota::give_default_limits(context.engine.list(*context.engine.kinds().find("", "v1", "limitranges"), ns), pod);
    pod["status"] = {{"phase", "Pending"}, {"qosClass", quota::qos_class(pod)}};
    FLEETADM_CHECK(mount_account(context, pod));
    auto problems = pod_spec_problems(object_at(pod, {"spec"}), "spec");
    if (!list_at(pod, {"spec", "ephemeralContainers"}).empty())
      problems.push_back(forbidden_field("spec.ephemeralContainers", "cannot be set on create"));
    if (!problems.empty()) return invalid(context.kind, name_of(pod), problems);
    return {};
  };
  out.update = [](const StrategyContext& context, Json& pod, const Json& old) -> ApiStatus {
    if (context.options.admitted_as == "binding") return {};  // which gives the pod its node
    if (context.options.subresource == "ephemeralcontainers") {
      if (const auto problems = ephemeral_container_problems(pod, old); !problems.empty())
        return invalid(context.kind, name_of(pod), problems);
      return {};
    }
    return check_update(context, pod, old);
  };
  return out;
}

}  // namespace fleetadm::sandbox
