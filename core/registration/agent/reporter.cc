#include "core/registration/agent/reporter.h"

#include <algorithm>

#include "core/api/agent_health.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/agent/node_sums.h"
#include "kubeclient/base/log.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::registration::agent {
namespace {

constexpr auto kVersionLasts = std::chrono::minutes(10);        // of a server that was not seen to be away
constexpr Duration kOwnHealthRetry = std::chrono::seconds(10);  // while it is not ready
/// An agent that has just joined runs: what its pods are like is no part of what the hub waits for.
constexpr Duration kOwnHealthAfter = std::chrono::seconds(30);
constexpr Duration kListsWithin = std::chrono::seconds(1);
constexpr Duration kListsRetry = std::chrono::milliseconds(20);
constexpr Duration kPartsRetry = std::chrono::milliseconds(500);
constexpr const char* kPartNotReady = "PartNotReady";
constexpr Duration kShortestWait = std::chrono::milliseconds(10);

/// The hub misses the heartbeat, which does not begin while a part is missing: its word stands.
void keep_unknown(const Json& managed_cluster, Json& wanted) {
  for (Json& condition : wanted["conditions"]) {
    const std::string type = str(condition, {"type"});
    if (type != api::kConditionAvailable && type != api::kConditionReady) continue;
    const Json* told = controller::find_condition(managed_cluster, type);
    if (told != nullptr && str(*told, {"status"}) == "Unknown") condition = *told;
  }
}

std::string available_of(const Json& status) {
  for (const Json& condition : list_at(status, {"conditions"})) {
    if (str(condition, {"type"}) == api::kConditionAvailable) return str(condition, {"status"});
  }
  return {};
}

}  // namespace

StatusReporter::StatusReporter(kube::Client hub, kube::Client spoke, std::string hub_server, ClaimOptions claims,
                               SpokeSources sources, std::shared_ptr<kube::Recorder> events, std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)),
      spoke_(spoke),
      claim_options_(std::move(claims)),
      sources_(std::move(sources)),
      events_(std::move(events)),
      clock_(std::move(clock)),
      began_(clock_->now()),
      namespaces_(std::move(spoke), hub_server) {}

Result<controller::Outcome> StatusReporter::reconcile(const Json& cached) {
  const Json managed_cluster = written_.newest(cached);
  if (!is_accepted(managed_cluster)) return controller::Outcome{};
  const Instant now = clock_->now();
  const ClusterObservation seen = look(managed_cluster, now);
  const controller::Outcome outcome{look_again(managed_cluster, seen, now)};
  if (listing_) return controller::Outcome{kListsRetry};
  if (is_clock_off(managed_cluster)) {
    log::warn("registration", "the hub finds the clock of this cluster to be off: no status is reported until it is set right");
    return outcome;
  }
  Json wanted = wanted_status(managed_cluster, seen, now);
  add_figures(managed_cluster, seen, now, wanted);
  if (sources_.parts && !sources_.parts().empty()) keep_unknown(managed_cluster, wanted);
  FLEETADM_TRY(const Json labelled, with_labels(managed_cluster));
  FLEETADM_TRY(const bool written, write_status(hub_, labelled, wanted, written_));
  if (written) tell_flip(managed_cluster, wanted);
  return outcome;
}

Result<Json> StatusReporter::with_labels(const Json& managed_cluster) {
  std::optional<Topology> where = topology_;
  // Told before, by an agent that was started otherwise.
  if (sources_.pods == nullptr && controller::find_condition(managed_cluster, api::kConditionResponding) != nullptr)
    where = Topology{};
  if (!where) return managed_cluster;
  auto labelled = write_labels(hub_, managed_cluster, *where, written_);
  if (labelled || labelled.error().category == Category::kConflict) return labelled;
  log::warn("registration", "the labels of where the cluster runs are not written: " + labelled.error().message);
  return managed_cluster;
}

bool StatusReporter::is_listing(Instant now) const {
  if (now < first_look_ || now - *first_look_ >= kListsWithin) return false;
  return sources_.nodes->is_coming() || sources_.cluster_claims->is_coming() || sources_.cluster_properties->is_coming();
}

std::optional<Duration> StatusReporter::look_again(const Json& managed_cluster, const ClusterObservation& seen,
                                                   Instant now) const {
  std::optional<Duration> again;
  if (seen.own && !seen.own->ready && seen.own->deployed) again = kOwnHealthRetry;
  const bool something_to_tell = sources_.own_deployment != nullptr || (sources_.parts && !sources_.parts().empty());
  if (something_to_tell && !tells_own_health(managed_cluster, now))
    again = kOwnHealthAfter - std::max(Duration::zero(), now - began_);
  // Whatever is kept until then is told as soon as the last part has come.
  if (sources_.parts && !sources_.parts().empty() &&
      controller::condition_is(managed_cluster, api::kConditionAvailable, "Unknown"))
    again = now - began_ < kOwnHealthAfter ? kPartsRetry : kOwnHealthRetry;
  if (seen.probe.state != Probe::State::kUp) again = ProbeJudge::kRetry;
  if (sources_.pods == nullptr) return again;
  if (last_.seen != Seen::kReady) again = ProbeJudge::kRetry;
  if (health_.due) again = std::clamp<Duration>(*health_.due - now, kShortestWait, ProbeJudge::kRetry);
  return again;
}

Probe StatusReporter::probe(const Json& managed_cluster, Instant now) {
  const Holds holds = holds_of(managed_cluster, ProbeJudge::kUsual);
  if (sources_.pods == nullptr) return judge_.judge(probe_once(spoke_), holds, now);
  last_ = look_once(spoke_);
  last_.asked = now;
  health_ = judge(managed_cluster, last_, holds, now, memory_);
  return health_.probe;
}

void StatusReporter::add_figures(const Json& managed_cluster, const ClusterObservation& seen, Instant now, Json& status) {
  if (sources_.pods == nullptr) {
    // They were told before, by an agent that was started otherwise.
    if (forget_ready(status)) forget_figures(status);
    return;
  }
  if (seen.probe.state == Probe::State::kUp) {
    sources_.pods->begin();
    const auto sums = sources_.pods->sums();
    if (nodes_ && sums) write_figures(*nodes_, *sums, status);
  }
  write_ready(managed_cluster, last_, holds_of(managed_cluster, ProbeJudge::kUsual), now, memory_, status);
}

ClusterObservation StatusReporter::look(const Json& managed_cluster, Instant now) {
  if (!first_look_) first_look_ = now;
  listing_ = false;
  ClusterObservation seen;
  seen.probe = probe(managed_cluster, now);
  if (seen.probe.state != Probe::State::kUp) {
    version_read_.reset();  // it may come back as another one
    return seen;
  }
  seen.version = version(now);
  for (const auto& source : {sources_.nodes, sources_.cluster_claims, sources_.cluster_properties}) source->ensure(now);
  listing_ = is_listing(now);
  seen.own = agent_health(managed_cluster, now);
  nodes_.reset();
  if (auto sums = sums_of_nodes(*sources_.nodes)) {
    seen.totals = std::move(sums->totals);
    nodes_ = sums->count;
    if (sources_.pods != nullptr) topology_ = std::move(sums->topology);
  }
  const auto claims = sources_.cluster_claims->objects();
  const auto properties = sources_.cluster_properties->objects();
  if (claims && properties) {
    ChosenClaims chosen = choose_claims(*claims, *properties, claim_options_);
    if (chosen.left_out != left_out_ && chosen.left_out > 0) {
      log::warn("registration", std::to_string(chosen.left_out) + " cluster claims are beyond the limit and not reported");
    }
    left_out_ = chosen.left_out;
    if (topology_) add_topology_claims(*topology_, chosen.claims);
    seen.claims = std::move(chosen.claims);
  }
  auto failures = namespaces_.apply(managed_cluster, now);
  if (failures) {
    seen.namespace_failures = std::move(*failures);
  } else {
    log::warn("registration", "managed namespaces: " + failures.error().message);
  }
  return seen;
}

bool StatusReporter::tells_own_health(const Json& managed_cluster, Instant now) const {
  return now - began_ >= kOwnHealthAfter || now < began_ || api::agent_health(managed_cluster).told;
}

std::optional<OwnHealth> StatusReporter::agent_health(const Json& managed_cluster, Instant now) {
  if (!tells_own_health(managed_cluster, now)) return std::nullopt;
  if (sources_.parts) {
    if (std::string missing = sources_.parts(); !missing.empty())
      return OwnHealth{true, false, kPartNotReady, std::move(missing)};
  }
  if (sources_.own_deployment == nullptr) return OwnHealth{};  // what was told of a part that is ready now is taken back
  sources_.own_deployment->ensure(now);
  const auto deployments = sources_.own_deployment->objects();
  return deployments ? own_health(*deployments) : std::nullopt;
}

std::optional<OwnHealth> StatusReporter::own_health(const std::vector<Json>& deployments) {
  const std::string version = deployments.empty() ? std::string() : resource_version_of(deployments.front());
  if (!own_health_ || !own_health_->ready || version != own_version_) {
    own_health_ = read_own_health(spoke_, deployments);
    own_version_ = version;
  }
  return own_health_;
}

std::string StatusReporter::version(Instant now) {
  if (version_.empty() || !version_read_ || now < *version_read_ || now - *version_read_ >= kVersionLasts) {
    if (const auto read = kube::server_version(spoke_)) {
      version_ = read->git_version;
      version_read_ = now;
    }
  }
  return version_;
}

void StatusReporter::tell_flip(const Json& before, const Json& wanted_status) const {
  const std::string was = available_of(object_at(before, {"status"}));
  const std::string is = available_of(wanted_status);
  if (was == is || is.empty() || events_ == nullptr) return;
  const std::string name = name_of(before);
  const Json regarding = {
      {"apiVersion", api::managed_clusters().api_version()},
      {"kind", api::managed_clusters().kind},
      {"metadata",
       {{"name", name}, {"namespace", name}, {"uid", uid_of(before)}, {"resourceVersion", resource_version_of(before)}}}};
  if (is == "True") {
    events_->event(
        regarding, name, "Normal", "Available", "Available",
        "The " + name + " is successfully imported, and it is managed by the hub cluster. Its apieserver is available");
  } else if (is == "False") {
    events_->event(regarding, name, "Warning", "Unavailable", "Unavailable",
                   "The " + name + " is successfully imported. However, its kube-apiserver is not available");
  }
}

}  // namespace fleetadm::registration::agent
