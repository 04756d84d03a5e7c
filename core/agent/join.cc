#include "core/agent/join.h"

#include "core/registration/agent/cluster.h"
#include "kubeclient/base/log.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

// Ends when the request is answered or gone, the bootstrap kubeconfig changed, or the time is over; what it was is looked up
// anew.
void wait_for_answer(Runtime& runtime, const kube::Client& hub, const std::string& request, std::stop_token stop) {
  std::stop_source interrupted;
  const std::stop_callback forward(stop, [&interrupted] { interrupted.request_stop(); });
  const Hook hook(runtime.bootstrap_changed, [&interrupted] { interrupted.request_stop(); });
  const auto answered = [](const std::optional<Json>& found) -> Result<bool> { return !found || reg::is_answered(*found); };
  const auto waited = kube::wait_for(hub, kube::resources::certificate_signing_requests(), {}, request, answered,
                                     runtime.options.timing.watch_request, interrupted.get_token());
  if (waited || waited.error().category == Category::kTimeout || waited.error().category == Category::kCancelled) return;
  log::warn("agent", "waiting for certificate request " + request + ": " + waited.error().message);
  runtime.bootstrap_changed.wait(std::chrono::seconds(5), stop);
}

}  // namespace

Status register_cluster(Runtime& runtime, const reg::Identity& identity, const Bootstrap& bootstrap) {
  reg::ClusterOptions cluster;
  cluster.name = identity.cluster;
  cluster.annotations = runtime.options.cluster_annotations;
  cluster.external_urls = runtime.options.external_server_urls;
  cluster.ca_pem = runtime.spoke_ca;
  const Status done = reg::ensure_managed_cluster(runtime.parts.connect(bootstrap.config), cluster);
  if (done || done.error().category != Category::kAuth) return done;
  log::warn("agent", "the bootstrap identity may not register the cluster: " + done.error().message);
  return {};
}

Result<bool> join_hub(Runtime& runtime, const reg::Identity& identity, const Bootstrap& bootstrap, std::stop_token stop) {
  const kube::Client hub = runtime.parts.connect(bootstrap.config);
  const reg::RequestOptions options{runtime.options.client_cert_expiration_seconds};
  const std::string who = "cluster " + identity.cluster + " at " + bootstrap.endpoint.server;
  runtime.phase.set("joining", who);
  while (!stop.stop_requested()) {
    FLEETADM_CHECK(register_cluster(runtime, identity, bootstrap));
    FLEETADM_TRY(const reg::Issuance issuance,
                 reg::advance(hub, runtime.store, identity, bootstrap.endpoint, options, *runtime.parts.clock));
    runtime.phase.set("joining", who + ": " + issuance.detail);
    switch (issuance.state) {
      case reg::Issuance::State::kIssued: return true;
      case reg::Issuance::State::kWaiting: wait_for_answer(runtime, hub, issuance.request_name, stop); break;
      case reg::Issuance::State::kDenied:
        // An administrator who deletes the denied request lets the agent ask again.
        runtime.bootstrap_changed.wait(std::chrono::minutes(1), stop);
        break;
      case reg::Issuance::State::kHalted:
        log::warn("agent", "ClientCertificateCreationHalted: " + issuance.detail);
        runtime.bootstrap_changed.wait(std::chrono::minutes(1), stop);
        break;
    }
    runtime.bootstrap_changed.wait(Duration::zero(), stop);  // what fired until now is read now
    FLEETADM_TRY(const std::optional<Bootstrap> current, runtime.bootstrap.read());
    if (!current || current->text != bootstrap.text) return false;
  }
  return false;
}

}  // namespace fleetadm::agent
