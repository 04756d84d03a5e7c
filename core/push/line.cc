#include "core/push/line.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/push/alarm.h"
#include "core/registration/agent/claims.h"
#include "core/registration/agent/node_sums.h"
#include "core/registration/agent/resources.h"
#include "core/registration/join/push_names.h"
#include "core/work/agent/agent.h"
#include "kubeclient/base/log.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::push {
namespace {

namespace reg = registration::agent;
namespace r = kube::resources;

constexpr auto kLookTimeout = std::chrono::seconds(5);
constexpr auto kWorkTimeout = std::chrono::seconds(10);
// A member that hangs is noticed between two probes.
constexpr auto kReadIdleTimeout = std::chrono::seconds(4);
constexpr auto kPingTimeout = std::chrono::seconds(2);
constexpr auto kVersionLasts = std::chrono::minutes(10);
constexpr int kWorkThreads = 4;

void add_id_claim(const std::string& id, std::vector<reg::Claim>& claims) {
  for (const reg::Claim& claim : claims) {
    if (claim.name == api::kClusterIdClaim) return;
  }
  claims.insert(claims.begin(), {std::string(api::kClusterIdClaim), id});
}

}  // namespace

Line::Line(const Shared& shared, Credential credential, std::function<void()> changed, const std::function<void()>& alarm)
    : shared_(shared),
      credential_(std::move(credential)),
      changed_([count = changes_, tell = std::move(changed)] {
        ++*count;
        tell();
      }),
      credentials_(std::make_shared<join::MemberCredentials>(credential_.access.credentials)),
      quiet_(shared.connect(with_credentials(false))),
      client_(with_alarm(quiet_, alarm).with_timeout(kLookTimeout).with_stop(stop_.get_token())),
      worker_(with_alarm(shared.connect(with_credentials(true)), alarm).with_timeout(kWorkTimeout)),
      prober_(quiet_.transport(), kLookTimeout, shared.clock) {
  // Assigned to, strings would keep their memory.
  std::exchange(credential_.access.config, kube::RestConfig());
  std::exchange(credential_.access.credentials, kube::Credentials());
}

Line::~Line() {
  stop_.request_stop();
  end_watches();
  end_works();
}

kube::RestConfig Line::with_credentials(bool for_works) const {
  kube::RestConfig config = credential_.access.config;
  config.credentials = credentials_;
  config.read_idle_timeout = kReadIdleTimeout;
  config.ping_timeout = kPingTimeout;
  if (for_works) config.impersonate_user = credential_.account.acts_as;
  return config;
}

kube::Client Line::renewer() const {
  return join::is_former(credential_.account) ? client_ : worker_.with_stop(stop_.get_token());
}

bool Line::leads_to(const Credential& other) const { return leads_to_the_same(credential_, other); }

Look Line::verify(Look look) {
  if (!is_alive(look)) verified_ = false;
  if (!is_alive(look) || verified_) return look;
  const auto system = client_.get(r::namespaces(), "", "kube-system");
  if (!system) return look_of(system.error());
  if (uid_of(*system) != credential_.cluster_id)
    return {Seen::kOtherCluster, 0,
            "another cluster answers at this address: its id is " + log::escape_terminal(uid_of(*system))};
  verified_ = true;
  return look;
}

void Line::begin_watches(Instant now) {
  if (is_version_due(now)) {
    if (const auto read = kube::server_version(client_)) version_ = read->git_version;
    version_read_ = now;
  }
  if (!nodes_) {
    kube::InformerOptions of_nodes;
    of_nodes.project = reg::project_placed_node;
    nodes_ = std::make_unique<reg::OptionalSource>(client_, r::nodes(), std::move(of_nodes), changed_);
    claims_ = std::make_unique<reg::OptionalSource>(client_, api::cluster_claims(), kube::InformerOptions{}, changed_);
    properties_ = std::make_unique<reg::OptionalSource>(client_, api::cluster_properties(), kube::InformerOptions{}, changed_);
    watched_since_ = now;
  }
  for (auto* source : {&nodes_, &claims_, &properties_}) (*source)->ensure(now);
}

void Line::begin_pods() {
  // Not before it is well: a list of all pods is the most that the hub asks of a member.
  if (!pods_) pods_ = std::make_shared<reg::PodWatch>(client_);
  pods_->begin();
}

bool Line::get_ready(Instant now) {
  begin_watches(now);
  begin_pods();
  return nodes_->is_coming() || claims_->is_coming() || properties_->is_coming() || !pods_->sums();
}

void Line::end_watches() {
  prober_.stop_looking();
  for (auto* source : {&nodes_, &claims_, &properties_}) source->reset();
  of_nodes_.reset();
  pods_.reset();
}

bool Line::is_version_due(Instant now) const {
  return version_.empty() || now - version_read_ >= kVersionLasts || now < version_read_;
}

std::optional<std::uint64_t> Line::revision(Instant now) const {
  if (!nodes_ || !pods_ || is_version_due(now)) return std::nullopt;
  for (const auto* source : {&nodes_, &claims_, &properties_}) {
    if ((*source)->is_due(now)) return std::nullopt;
  }
  return watched_revision()();
}

Line::Revision Line::watched_revision() const {
  return [watch = std::weak_ptr(pods_), changes = changes_]() -> std::optional<std::uint64_t> {
    const auto pods = watch.lock();
    const auto of_pods = pods ? pods->revision() : std::nullopt;
    if (!of_pods) return std::nullopt;
    return *of_pods + *changes;  // both only grow
  };
}

reg::ClusterObservation Line::observe(Instant now) {
  reg::ClusterObservation seen;
  begin_watches(now);
  seen.version = version_;
  of_nodes_.reset();
  if (auto sums = reg::sums_of_nodes(*nodes_)) {
    seen.totals = std::move(sums->totals);
    of_nodes_ = OfNodes{sums->count, std::move(sums->topology)};
  }
  const auto claims = claims_->objects();
  const auto properties = properties_->objects();
  if (claims && properties) {
    reg::ChosenClaims chosen = reg::choose_claims(*claims, *properties, {});
    add_id_claim(credential_.cluster_id, chosen.claims);
    if (of_nodes_) reg::add_topology_claims(of_nodes_->topology, chosen.claims);
    seen.claims = std::move(chosen.claims);
  }
  return seen;
}

void Line::write_figures(Json& status) {
  begin_pods();
  const auto sums = pods_->sums();
  if (of_nodes_ && sums) reg::write_figures(of_nodes_->count, *sums, status);
}

void Line::begin_works(const std::string& cluster) {
  if (works_) return;
  works_stop_ = {};
  works_.emplace(controller::Manager::Options{.threads = kWorkThreads, .clock = shared_.clock, .pool = shared_.pool});
  work::WorkAgentOptions options;
  options.cluster = cluster;
  options.hub_server = api::push_hub_name(shared_.hub_id);
  options.clock = shared_.clock;
  work::add_work_controllers(*works_, shared_.hub, worker_.with_stop(works_stop_.get_token()), options);
  if (const Status begun = works_->start(); !begun) log::error("push", cluster + ": " + begun.error().message);
  log::info(0, "push", cluster + ": the hub applies its works");
}

void Line::end_works() {
  if (!works_) return;
  works_stop_.request_stop();
  works_->stop();
  works_.reset();
}

}  // namespace fleetadm::push
