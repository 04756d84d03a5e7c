// Whether an object is ready, judged by what its status says, as `kubectl rollout status` and the kstatus conventions judge it.
// Pure: what an object's status does not say of its pods is looked for in readiness_causes.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

enum class ReadyState { kTrue, kFalse, kUnknown };
std::string_view to_string(ReadyState state);  // "True", "False", "Unknown"

struct Readiness {
  ReadyState state = ReadyState::kTrue;
  std::string reason = "Ready";  // valid as a condition's reason
  std::string message;
  bool terminal = false;  // kFalse, and waiting does not help: a failed Job, a Deployment past its progress deadline

  bool operator==(const Readiness&) const = default;
};

/// Of a live object. Objects of kinds whose status says nothing about readiness are ready when they exist. A Job is ready when it
/// has completed. An Ingress is ready when it exists, because many controllers never report its address.
Readiness readiness_of(const Json& object);

/// False for kinds that have no status, so that nothing needs to be read when only their resourceVersion changes.
bool has_readiness(std::string_view group, std::string_view kind);

/// Why a pod is not ready or cannot become ready, in the kubelet's or the scheduler's words: ImagePullBackOff, CrashLoopBackOff,
/// Unschedulable. Nullopt: it is ready, has completed, or is merely starting.
struct PodTrouble {
  std::string reason;
  std::string message;
};
std::optional<PodTrouble> pod_trouble(const Json& pod);

/// `text` as a condition's reason; `otherwise` where nothing of it can be one.
std::string valid_reason(std::string_view text, std::string_view otherwise);

// The judges of single kinds: internal, called by readiness_of() once the generation was observed.
Readiness deployment_readiness(const Json& object);
Readiness stateful_set_readiness(const Json& object);
Readiness daemon_set_readiness(const Json& object);
Readiness replica_set_readiness(const Json& object);
Readiness job_readiness(const Json& object);
Readiness pod_readiness(const Json& object);

}  // namespace fleetadm::work
