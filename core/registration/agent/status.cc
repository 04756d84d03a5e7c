#include "core/registration/agent/status.h"

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::registration::agent {
namespace {

Probe ask(const kube::Client& spoke, const char* path) {
  kube::Request request;
  request.path = path;
  request.accept = "*/*";
  const Result<kube::Response> answer = spoke.raw(request);
  if (!answer) return {Probe::State::kDown, answer.error().code, answer.error().message};
  if (answer->status >= 200 && answer->status < 300) return {Probe::State::kUp, answer->status, {}};
  return {Probe::State::kDown, answer->status, "the health check answered " + std::to_string(answer->status)};
}

}  // namespace

Probe probe_once(const kube::Client& spoke) {
  Probe probe = ask(spoke, "/livez");
  if (probe.code == 404 || probe.code == 403) probe = ask(spoke, "/healthz");
  return probe;
}

Probe ProbeJudge::judge(Probe once, const Holds& holds, Instant now) {
  const bool down = once.state != Probe::State::kUp;
  if (down == down_) {
    since_.reset();
    return once;
  }
  // A first look that differs, or a clock that was set back.
  if (!since_ || now < *since_) since_ = now;
  if (now - *since_ < (down ? holds.failure : holds.success)) {
    once.state = Probe::State::kUnsure;
    return once;
  }
  down_ = down;
  since_.reset();
  return once;
}

bool is_accepted(const Json& managed_cluster) {
  return controller::condition_is(managed_cluster, api::kConditionHubAccepted, "True");
}

bool is_clock_off(const Json& managed_cluster) {
  return controller::condition_is(managed_cluster, api::kConditionClockSynced, "False");
}

Json wanted_status(const Json& managed_cluster, const ClusterObservation& seen, Instant now) {
  Json status = object_at(managed_cluster, {"status"});
  if (!is_accepted(managed_cluster)) return status;
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  controller::set_condition(conditions, api::kConditionJoined, "True", "ManagedClusterJoined", "Managed cluster joined", now);
  switch (seen.probe.state) {
    case Probe::State::kUnsure: return status;
    case Probe::State::kDown:
      controller::set_condition(
          conditions, api::kConditionAvailable, "False", "ManagedClusterKubeAPIServerUnavailable",
          "The kube-apiserver is not ok, status code: " + std::to_string(seen.probe.code) + ", " + seen.probe.message, now);
      return status;
    case Probe::State::kUp: break;
  }
  controller::set_condition(conditions, api::kConditionAvailable, "True", "ManagedClusterAvailable",
                            "Managed cluster is available", now);
  if (seen.own) write_own_health(*seen.own, now, conditions);
  if (!seen.version.empty()) at_or_make(status, {"version"})["kubernetes"] = seen.version;
  if (seen.totals) write_totals(*seen.totals, status);
  if (seen.claims) {
    if (seen.claims->empty()) {
      status.erase("clusterClaims");
    } else {
      status["clusterClaims"] = claims_json(*seen.claims);
    }
  }
  if (seen.namespace_failures && !is_deleting(managed_cluster)) write_namespace_conditions(*seen.namespace_failures, now, status);
  return status;
}

Result<bool> write_status(const kube::Client& hub, const Json& managed_cluster, const Json& wanted,
                          kube::MutationCache& written) {
  if (object_at(managed_cluster, {"status"}) == wanted) return false;
  Json after = managed_cluster;
  after["status"] = wanted;
  FLEETADM_TRY(const Json stored, kube::patch_fields(hub, api::managed_clusters(), managed_cluster, after, "status"));
  written.note(stored);
  return true;
}

}  // namespace fleetadm::registration::agent
