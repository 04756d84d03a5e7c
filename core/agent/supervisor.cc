#include "core/agent/supervisor.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kGoodSession = std::chrono::minutes(5);
constexpr auto kNoBootstrapLook = std::chrono::seconds(30);

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

Result<Duration> Supervisor::turn() {
  const AgentOptions& options = runtime_.options;
  FLEETADM_TRY(reg::HubSecret stored, runtime_.store.load());
  const auto wanted = reg::choose_identity({options.cluster_name, options.agent_id}, stored.identity());
  // Flags were checked at start: the secret holds something that is no name, which a person has to repair.
  if (!wanted) return fail(wanted.error().wrap("secret " + options.ns + "/" + options.hub_kubeconfig_secret));
  if (!(stored.identity() == *wanted)) {
    FLEETADM_TRY(stored, keep_identity(*wanted));
  }
  const reg::Identity identity = stored.identity();
  runtime_.bootstrap_changed.take();  // what fired until now is read now
  const auto bootstrap = runtime_.bootstrap.read();
  std::optional<reg::Endpoint> hub;
  if (bootstrap && *bootstrap) hub = (*bootstrap)->endpoint;
  std::string why = reg::why_unusable(stored, identity, hub, runtime_.now());
  if (why.empty()) why = lost_;
  if (why.empty()) {
    if (!bootstrap) log::warn("agent", bootstrap.error().message);
    joining_.reset();
    return begin_session(identity, stored, bootstrap ? *bootstrap : std::nullopt);
  }
  FLEETADM_CHECK(bootstrap.map([](const auto&) {}));
  if (*bootstrap) return join(identity, **bootstrap, why);
  joining_.reset();
  runtime_.phase.set("waiting", "for " + runtime_.bootstrap.name() + " (" + why + ")");
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
  log::warn("agent", look.end->detail);
  if (look.end->why != SessionEnd::Why::kCredentialLost) return Duration::zero();
  lost_ = look.end->detail;
  // A hub that refuses what it has just issued must not be flooded with requests.
  runtime_.phase.set("waiting", "to join again: " + lost_);
  return pause(rejoin_.next());
}

}  // namespace fleetadm::agent
