#include "core/agent/join.h"

#include <algorithm>
#include <utility>

#include "core/registration/agent/cluster.h"
#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

constexpr auto kRefusedAgain = std::chrono::minutes(1);
constexpr auto kUnwatchedAgain = std::chrono::seconds(5);  // while the watch has not begun, or there is none

}  // namespace

Joining::Joining(Runtime& runtime, reg::Identity identity, Bootstrap bootstrap, std::function<void()> wake)
    : runtime_(runtime),
      identity_(std::move(identity)),
      bootstrap_(std::move(bootstrap)),
      wake_(std::move(wake)),
      hub_(runtime.parts.connect(bootstrap_.config)) {}

Joining::~Joining() {
  if (answers_) answers_->stop();
}

bool Joining::is_for(const reg::Identity& identity, const Bootstrap& bootstrap) const {
  return identity_ == identity && bootstrap_.text == bootstrap.text;
}

Result<std::optional<Duration>> Joining::step() {
  const std::string who = "cluster " + identity_.cluster + " at " + bootstrap_.endpoint.server;
  runtime_.phase.set("joining", who);
  if (!registered_ || runtime_.now() - *registered_ >= kRegisterAgain) {
    FLEETADM_CHECK(register_cluster(runtime_, hub_, identity_));
    registered_ = runtime_.now();
  }
  FLEETADM_TRY(const reg::Issuance issuance,
               runtime_.driver->advance(hub_, runtime_.store, identity_, bootstrap_.endpoint, *runtime_.parts.clock));
  runtime_.phase.set("joining", who + ": " + issuance.detail);
  switch (issuance.state) {
    case reg::Issuance::State::kIssued: return std::nullopt;
    case reg::Issuance::State::kWaiting:
      if (issuance.request_name.empty()) return kUnwatchedAgain;
      watch_answer(issuance.request_name);
      break;
    case reg::Issuance::State::kDenied:
      // An administrator who deletes the denied request lets the agent ask again.
      return kRefusedAgain;
    case reg::Issuance::State::kHalted:
      log::warn("agent", "ClientCertificateCreationHalted: " + issuance.detail);
      return kRefusedAgain;
  }
  return answers_->synced() ? runtime_.options.timing.watch_request
                            : std::min<Duration>(runtime_.options.timing.watch_request, kUnwatchedAgain);
}

void Joining::watch_answer(const std::string& request) {
  if (answers_ && watched_ == request) return;
  if (answers_) answers_->stop();
  watched_ = request;
  kube::InformerOptions options;
  options.field_selector = "metadata.name=" + request;
  answers_ = kube::Informer::make(hub_, kube::resources::certificate_signing_requests(), std::move(options));
  answers_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (!after || reg::is_answered(after->decode())) wake_();
  });
  answers_->start();
}

Status register_cluster(const Runtime& runtime, const kube::Client& hub, const reg::Identity& identity) {
  reg::ClusterOptions cluster;
  cluster.name = identity.cluster;
  cluster.labels = runtime.options.cluster_labels;
  cluster.annotations = runtime.options.cluster_annotations;
  for (const auto& [key, value] : runtime.driver->annotations()) cluster.annotations[key] = value;
  cluster.external_urls = runtime.options.external_server_urls;
  cluster.ca_pem = runtime.spoke_ca;
  const Status done = reg::ensure_managed_cluster(hub, cluster);
  if (done || done.error().category != Category::kAuth) return done;
  log::warn("agent", "the bootstrap identity may not register the cluster: " + done.error().message);
  return {};
}

}  // namespace fleetadm::agent
