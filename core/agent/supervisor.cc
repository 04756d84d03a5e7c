#include "core/agent/supervisor.h"

#include <algorithm>
#include <utility>

#include "core/registration/agent/hub_check.h"
#include "core/registration/agent/rotation.h"
#include "core/registration/agent/status.h"
#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kGoodSession = std::chrono::minutes(5);
constexpr auto kNoBootstrapLook = std::chrono::seconds(30);
constexpr auto kHubTimeout = std::chrono::seconds(10);  // of one request that asks whether a hub can be joined

kube::Client client_of_hub(const Runtime& runtime, const reg::Endpoint& endpoint, const reg::HubSecret& stored) {
  auto credentials = std::make_shared<HubCredentials>(*runtime.driver);
  credentials->set(stored);
  return connect_to_hub(runtime, endpoint, std::move(credentials)).with_timeout(kHubTimeout);
}

}  // namespace

Supervisor::Supervisor(Runtime& runtime, std::function<void()> wake)
    : runtime_(runtime),
      wake_(std::move(wake)),
      retry_(runtime.options.timing.retry_first, runtime.options.timing.retry_longest),
      rejoin_(runtime.options.timing.retry_first * 5, runtime.options.timing.rejoin_longest) {
  answered_.set_hook(wake_);
}

Duration Supervisor::pause(Duration length) {
  paused_until_ = Steady::now() + std::chrono::duration_cast<Steady::duration>(length);
  return length;
}

Duration Supervisor::step() {
  if (session_) return look_after_session();
  const auto left = paused_until_ - Steady::now();
  const bool changed = runtime_.bootstrap_changed.fired();
  if (left > Steady::duration::zero() && !changed && !answered_.take()) return left;
  paused_until_ = {};
  const Result<Duration> next = turn();
  if (next) {
    retry_.reset();
    return *next;
  }
  runtime_.phase.set("retrying", next.error().message);
  runtime_.hubs.doubt();
  if (!next.error().hint.empty()) log::info(0, "agent", next.error().hint);
  return pause(retry_.next());
}

// The names are stored before anything is said to a hub: whoever approves must see the same name again after a restart.
Result<reg::HubSecret> Supervisor::keep_identity(const reg::Identity& identity) const {
  return runtime_.store.edit([&](reg::HubSecret& secret) -> Status {
    const AgentOptions& options = runtime_.options;
    const auto settle = [&secret](const char* key, const std::string& flag, const std::string& fresh) {
      std::string& stored = secret.data[key];
      // A second agent may have been faster; its choice stands where flags do not say otherwise.
      if (!flag.empty() || stored.empty()) stored = !flag.empty() ? flag : fresh;
    };
    settle(reg::kClusterNameKey, options.cluster_name, identity.cluster);
    settle(reg::kAgentNameKey, options.agent_id, identity.agent);
    return {};
  });
}

Result<std::optional<Bootstrap>> Supervisor::choose_hub(const reg::Identity& identity, const reg::HubSecret& stored) {
  std::optional<reg::Endpoint> current;
  if (auto endpoint = reg::endpoint_of(stored.get(reg::kKubeconfigKey))) current = std::move(*endpoint);
  const auto check = [&](const Bootstrap& hub) -> Result<std::string> {
    // A hub that still takes the agent's own credential needs no bootstrap identity, whose token may have ended long ago.
    if (current && hub.endpoint == *current && runtime_.driver->why_unusable(stored, identity, current, runtime_.now()).empty()) {
      const auto found = client_of_hub(runtime_, hub.endpoint, stored).find(api::managed_clusters(), {}, identity.cluster);
      if (found && *found && reg::is_accepted(**found) && !reg::is_denied(**found)) return std::string();
    }
    return reg::why_not_joinable(runtime_.parts.connect(hub.config).with_timeout(kHubTimeout), identity.cluster);
  };
  return runtime_.hubs.choose(current, check, runtime_.now());
}

Result<reg::HubSecret> Supervisor::adopt_ca(const reg::Identity& identity, reg::HubSecret stored,
                                            const reg::Endpoint& hub) const {
  auto current = reg::endpoint_of(stored.get(reg::kKubeconfigKey));
  if (!current || *current == hub) return stored;
  if (!runtime_.driver->why_unusable(stored, identity, *current, runtime_.now()).empty()) return stored;
  const std::string former = std::exchange(current->ca_pem, hub.ca_pem);
  current->entry = hub.entry;
  if (!(*current == hub)) return stored;
  const auto asked = client_of_hub(runtime_, hub, stored).find(api::managed_clusters(), {}, identity.cluster);
  const bool known = asked || asked.error().code == 403;  // it has no rights while the cluster is denied
  if (!known) return stored;
  log::info(0, "agent", "the bootstrap kubeconfig has another CA for the hub, which the hub agrees with: it is taken over");
  return runtime_.store.edit([&](reg::HubSecret& secret) -> Status {
    reg::note_authorities(secret, former, hub.ca_pem);
    secret.data[reg::kKubeconfigKey] = runtime_.driver->kubeconfig(hub);
    return {};
  });
}

Result<reg::HubSecret> Supervisor::change_hub(const reg::Identity& identity, reg::HubSecret stored,
                                              const reg::Endpoint& hub) const {
  const auto current = reg::endpoint_of(stored.get(reg::kKubeconfigKey));
  if (!current || *current == hub || (runtime_.driver->has_certificate() && stored.get(reg::kCertificateKey).empty()))
    return stored;
  const reg::HubSecret former = stored.former();
  const bool comes_back = runtime_.driver->why_unusable(former, identity, hub, runtime_.now()).empty() &&
                          client_of_hub(runtime_, hub, former).find(api::managed_clusters(), {}, identity.cluster).has_value();
  if (!comes_back && former.get(reg::kCertificateKey) == stored.get(reg::kCertificateKey)) return stored;
  return runtime_.store.edit([&](reg::HubSecret& secret) -> Status {
    for (const char* key : {reg::kKubeconfigKey, reg::kCertificateKey, reg::kPrivateKeyKey}) {
      secret.data[std::string(reg::kFormerPrefix) + key] = stored.get(key);
      if (comes_back) secret.data[key] = former.get(key);
    }
    return {};
  });
}

Result<Duration> Supervisor::turn() {
  const AgentOptions& options = runtime_.options;
  FLEETADM_TRY(reg::HubSecret stored, runtime_.store.load());
  const auto wanted = reg::choose_identity({options.cluster_name, options.agent_id}, stored.identity());
  // Flags were checked at start: the secret holds something that is no name, which a person has to repair.
  if (!wanted) return fail(wanted.error().wrap("secret " + runtime_.store.ns() + "/" + options.hub_kubeconfig_secret));
  if (!(stored.identity() == *wanted)) {
    FLEETADM_TRY(stored, keep_identity(*wanted));
  }
  const reg::Identity identity = stored.identity();
  runtime_.bootstrap_changed.take();  // what fired until now is read now
  const auto bootstrap = choose_hub(identity, stored);
  std::optional<reg::Endpoint> hub;
  if (bootstrap && *bootstrap) hub = (*bootstrap)->endpoint;
  if (hub && lost_.empty()) {
    FLEETADM_TRY(stored, adopt_ca(identity, std::move(stored), *hub));
    if (runtime_.hubs.several()) {
      FLEETADM_TRY(stored, change_hub(identity, std::move(stored), *hub));
    }
  }
  runtime_.certificates.hold(stored);
  if (bootstrap) runtime_.certificates.hold(*bootstrap, identity.cluster);
  std::string why = runtime_.driver->why_unusable(stored, identity, hub, runtime_.now());
  if (why.empty()) why = lost_;
  if (why.empty()) {
    if (!bootstrap) log::warn("agent", bootstrap.error().message);
    joining_.reset();
    return begin_session(identity, stored, bootstrap ? *bootstrap : std::nullopt);
  }
  FLEETADM_CHECK(bootstrap.map([](const auto&) {}));
  if (*bootstrap) return join(identity, **bootstrap, why);
  joining_.reset();
  runtime_.phase.set("waiting", "for " + runtime_.hubs.names() + " (" + why + ")");
  return pause(kNoBootstrapLook);
}

Result<Duration> Supervisor::join(const reg::Identity& identity, const Bootstrap& bootstrap, const std::string& why) {
  if (!joining_ || !joining_->is_for(identity, bootstrap)) {
    log::info(1, "agent", "joining: " + why);
    joining_ = std::make_unique<Joining>(runtime_, identity, bootstrap, [this] { answered_.fire(); });
  }
  FLEETADM_TRY(const std::optional<Duration> wait, joining_->step());
  if (wait) return pause(*wait);
  joining_.reset();
  lost_.clear();
  return Duration::zero();
}

Duration Supervisor::begin_session(const reg::Identity& identity, const reg::HubSecret& stored,
                                   const std::optional<Bootstrap>& bootstrap) {
  Result<reg::Endpoint> endpoint = reg::endpoint_of(stored.get(reg::kKubeconfigKey));
  if (!endpoint) {
    lost_ = endpoint.error().message;
    return Duration::zero();
  }
  session_ = std::make_unique<Session>(runtime_, identity, std::move(*endpoint), bootstrap, stored);
  session_began_ = runtime_.now();
  return look_after_session();
}

Duration Supervisor::look_after_session() {
  const Session::Look look = session_->look();
  if (!look.end) return look.again;
  session_.reset();
  if (runtime_.now() - session_began_ >= kGoodSession) rejoin_.reset();
  if (!look.end->detail.empty()) log::warn("agent", look.end->detail);
  runtime_.hubs.doubt();
  if (look.end->why != SessionEnd::Why::kCredentialLost) return Duration::zero();
  lost_ = look.end->detail;
  // A hub that refuses what it has just issued must not be flooded with requests.
  runtime_.phase.set("waiting", "to join again: " + lost_);
  return pause(rejoin_.next());
}

}  // namespace fleetadm::agent
