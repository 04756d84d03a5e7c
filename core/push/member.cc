#include "core/push/member.h"

#include <random>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/push/figures.h"
#include "core/push/probe.h"
#include "core/push/topology.h"
#include "core/registration/agent/claims.h"
#include "core/registration/agent/resources.h"
#include "core/work/agent/agent.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/token_claims.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::push {
namespace {

namespace reg = registration::agent;
namespace r = kube::resources;

constexpr auto kLookTimeout = std::chrono::seconds(5);
constexpr auto kWorkTimeout = std::chrono::seconds(10);
constexpr auto kBetweenFailures = std::chrono::seconds(1);
constexpr auto kAfterAnotherWrite = std::chrono::milliseconds(300);
constexpr auto kVersionLasts = std::chrono::minutes(10);
constexpr auto kWorksEndAfter = std::chrono::seconds(3);
constexpr int kWorkThreads = 4;

double random_fraction() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

void add_id_claim(const std::string& id, std::vector<reg::Claim>& claims) {
  for (const reg::Claim& claim : claims) {
    if (claim.name == api::kClusterIdClaim) return;
  }
  claims.insert(claims.begin(), {std::string(api::kClusterIdClaim), id});
}

}  // namespace

/// Which address, and what was found behind it.
struct Member::Line {
  Credential credential;  // but for the token, which is in `credentials`
  std::shared_ptr<join::MemberCredentials> credentials;
  std::stop_source stop;
  kube::Client client;
  kube::Client worker;
  std::shared_ptr<reg::OptionalSource> nodes;
  std::shared_ptr<reg::OptionalSource> claims;
  std::shared_ptr<reg::OptionalSource> properties;
  std::shared_ptr<PodSums> sums = std::make_shared<PodSums>();
  std::shared_ptr<kube::Informer> pods;  // null: they were not asked for yet
  Prober prober;
  bool verified = false;  // it is the cluster that joined; again after each silence
  std::string version;
  Instant version_read{};
  std::stop_source works_stop;
  std::optional<controller::Manager> works;

  Line(const Shared& shared, Credential given, const std::function<void()>& changed)
      : credential(std::move(given)),
        credentials(std::make_shared<join::MemberCredentials>(credential.access.credentials)),
        client(shared.connect(with_credentials(false)).with_timeout(kLookTimeout).with_stop(stop.get_token())),
        worker(shared.connect(with_credentials(true)).with_timeout(kWorkTimeout)),
        prober(client.transport(), kLookTimeout) {
    kube::InformerOptions of_nodes;
    of_nodes.project = project_counted_node;
    nodes = std::make_shared<reg::OptionalSource>(client, r::nodes(), std::move(of_nodes), changed);
    claims = std::make_shared<reg::OptionalSource>(client, api::cluster_claims(), kube::InformerOptions{}, changed);
    properties = std::make_shared<reg::OptionalSource>(client, api::cluster_properties(), kube::InformerOptions{}, changed);
  }
  ~Line() {
    stop.request_stop();
    if (pods) pods->stop();
    end_works();
  }
  /// What they are about is cancelled, so that nothing waits for a member that hangs.
  void end_works() {
    if (!works) return;
    works_stop.request_stop();
    works->stop();
    works.reset();
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  kube::RestConfig with_credentials(bool for_works) const {
    kube::RestConfig config = credential.access.config;
    config.credentials = credentials;
    if (for_works)
      config.impersonate_user = "system:serviceaccount:" + credential.account_ns + ":" + std::string(api::kPushWorkAccount);
    return config;
  }
};

Result<Credential> credential_of(const Json& secret) {
  FLEETADM_TRY(const std::string kubeconfig, base64_decode(str(secret, {"data", "kubeconfig"})));
  if (kubeconfig.empty()) return fail(Category::kInvalid, "it has no key \"kubeconfig\"");
  Credential credential;
  FLEETADM_TRY(credential.access, join::member_access(kubeconfig));
  if (credential.access.config.insecure) return fail(Category::kInvalid, "its kubeconfig says insecure-skip-tls-verify");
  credential.cluster_id = annotation_of(secret, api::kClusterIdAnnotation);
  if (credential.cluster_id.empty())
    return fail(Category::kInvalid, "it has no annotation " + std::string(api::kClusterIdAnnotation));
  const auto claims = token_claims(credential.access.credentials.token);
  if (!claims || claims->account != api::kPushAccount)
    return fail(Category::kInvalid, "its token is none of an account " + std::string(api::kPushAccount));
  credential.account_ns = claims->account_namespace;
  return credential;
}

Member::Member(const Shared& shared, std::string cluster, std::function<void()> changed)
    : shared_(shared),
      cluster_(std::move(cluster)),
      changed_(std::move(changed)),
      lease_(shared.hub, cluster_, shared.clock, random_fraction) {}

Member::~Member() {
  std::shared_ptr<Line> last;  // ends before anything that its probe writes to
  const std::lock_guard lock(mutex_);
  last = std::exchange(line_, nullptr);
}

void Member::set(const Result<Credential>& credential) {
  std::shared_ptr<Line> before;  // ends when the mutex is free again
  const std::lock_guard lock(mutex_);
  if (!credential) {
    const std::string trouble = credential.error().message;
    if (trouble != trouble_) log::warn("push", cluster_ + ": its credential cannot be used: " + trouble);
    trouble_ = trouble;
    before = std::exchange(line_, nullptr);
    return;
  }
  trouble_.clear();
  if (line_ && line_->credential.access.frame == credential->access.frame &&
      line_->credential.cluster_id == credential->cluster_id && line_->credential.account_ns == credential->account_ns) {
    line_->credentials->set(credential->access.credentials);
    return;
  }
  fresh_.reset();
  before = std::exchange(line_, std::make_shared<Line>(shared_, *credential, changed_));
}

std::shared_ptr<Member::Line> Member::line() const {
  const std::lock_guard lock(mutex_);
  return line_;
}

std::optional<std::pair<Credential, kube::Client>> Member::access() const {
  const auto now = line();
  if (!now) return std::nullopt;
  Credential credential = now->credential;
  if (const auto current = now->credentials->current()) credential.access.credentials = *current;
  return std::pair{std::move(credential), now->client};
}

void Member::probe(const std::shared_ptr<Line>& line) {
  line->prober.begin([this, weak = std::weak_ptr(line)](Look look) {
    {
      const std::lock_guard lock(mutex_);
      // Not locked: the last owner must not be this thread.
      if (weak.owner_before(line_) || line_.owner_before(weak)) return;
      fresh_ = std::move(look);
    }
    changed_();
  });
}

Look Member::verify(const std::shared_ptr<Line>& line, Look look) {
  if (!is_alive(look)) line->verified = false;
  if (!is_alive(look) || line->verified) return look;
  const auto system = line->client.get(r::namespaces(), "", "kube-system");
  if (!system) return look_of(system.error());
  if (uid_of(*system) != line->credential.cluster_id)
    return {Seen::kOtherCluster, 0,
            "another cluster answers at this address: its id is " + log::escape_terminal(uid_of(*system))};
  line->verified = true;
  return look;
}

bool Member::take_stored_credential(const std::shared_ptr<Line>& line) const {
  const auto secret = shared_.hub.find(r::secrets(), shared_.ns, cluster_);
  if (!secret || !*secret) return false;
  const auto credential = credential_of(**secret);
  const auto current = line->credentials->current();
  if (!credential || !current || credential->access.frame != line->credential.access.frame ||
      credential->access.credentials.token == current->token)
    return false;
  line->credentials->set(credential->access.credentials);
  return true;
}

std::optional<Look> Member::look(const std::shared_ptr<Line>& line) {
  std::optional<Look> look;
  {
    const std::lock_guard lock(mutex_);
    if (!line) return Look{Seen::kNoCredential, 0, trouble_};
    look = std::exchange(fresh_, std::nullopt);
  }
  // Somebody may have stored another one meanwhile.
  if (!look || (look->seen == Seen::kRefused && take_stored_credential(line))) {
    probe(line);
    return std::nullopt;
  }
  return verify(line, std::move(*look));
}

reg::ClusterObservation Member::observe(const std::shared_ptr<Line>& line, Instant now) const {
  reg::ClusterObservation seen;
  if (line->version.empty() || now - line->version_read >= kVersionLasts || now < line->version_read) {
    if (const auto read = kube::server_version(line->client)) line->version = read->git_version;
    line->version_read = now;
  }
  seen.version = line->version;
  for (const auto& source : {line->nodes, line->claims, line->properties}) source->ensure(now);
  if (const auto nodes = line->nodes->objects()) seen.totals = reg::sum_nodes(*nodes);
  const auto claims = line->claims->objects();
  const auto properties = line->properties->objects();
  if (claims && properties) {
    reg::ChosenClaims chosen = reg::choose_claims(*claims, *properties, {});
    add_id_claim(line->credential.cluster_id, chosen.claims);
    if (const auto nodes = line->nodes->objects()) add_topology_claims(topology_of(*nodes), chosen.claims);
    seen.claims = std::move(chosen.claims);
  }
  return seen;
}

void Member::begin_works(Line& line) const {
  if (line.works) return;
  line.works_stop = {};
  line.works.emplace(controller::Manager::Options{.threads = kWorkThreads, .clock = shared_.clock, .pool = shared_.pool});
  work::WorkAgentOptions options;
  options.cluster = cluster_;
  options.hub_server = api::push_hub_name(shared_.hub_id);
  options.clock = shared_.clock;
  work::add_work_controllers(*line.works, shared_.hub, line.worker.with_stop(line.works_stop.get_token()), options);
  if (const Status begun = line.works->start(); !begun) log::error("push", cluster_ + ": " + begun.error().message);
  log::info(0, "push", cluster_ + ": the hub applies its works");
}

void Member::keep_works(Line& line, const Look& look, Instant now) const {
  if (is_alive(look)) return begin_works(line);
  // Its works would only wait for it, on threads of all members. They begin anew with all that was missed.
  if (look.seen != Seen::kUnreachable || now - memory_.alive_since >= kWorksEndAfter) line.end_works();
}

void Member::add_figures(Line& line, Json& status) const {
  if (!line.pods) {
    // Not before it is well: a list of all pods is the most that the hub asks of a member.
    kube::InformerOptions of_pods;
    of_pods.project = project_pod;
    line.pods = kube::Informer::make(line.client, r::pods(), std::move(of_pods));
    line.pods->on_event([sums = line.sums](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      sums->take(before, after);
    });
    line.pods->start();
  }
  const auto nodes = line.nodes->objects();
  if (nodes && line.pods->synced()) write_figures(count_nodes(*nodes), line.sums->sums(), status);
}

bool Member::tell_labels(const Line& line, const Json& cluster) const {
  const auto nodes = line.nodes->objects();
  const Json labels = nodes ? changed_labels(cluster, topology_of(*nodes)) : Json();
  if (labels.is_null()) return false;
  const Json patch{
      {"metadata", {{"uid", uid_of(cluster)}, {"resourceVersion", resource_version_of(cluster)}, {"labels", labels}}}};
  const auto written = shared_.hub.patch(api::managed_clusters(), {}, cluster_, kube::PatchType::kMerge, patch);
  if (!written && written.error().category != Category::kConflict)
    log::warn("push", cluster_ + ": its labels are not written: " + written.error().message);
  return written || written.error().category == Category::kConflict;
}

Result<controller::Outcome> Member::report(const Json& cluster) {
  if (!reg::is_accepted(cluster)) return controller::Outcome{};
  const auto now_line = line();
  const std::optional<Look> seen_now = look(now_line);
  if (!seen_now) return controller::Outcome{};  // it comes back with what is found
  const Look& look = *seen_now;
  const Instant now = shared_.clock->now();
  const Holds holds = holds_of(cluster, shared_.holds);
  const Health health = judge(cluster, look, holds, now, memory_);
  reg::ClusterObservation seen;
  const bool told = health.probe.state == reg::Probe::State::kUp && now_line;
  if (told) seen = observe(now_line, now);
  seen.probe = health.probe;
  if (now_line) keep_works(*now_line, look, now);
  Json wanted = reg::wanted_status(cluster, seen, now);
  if (told) add_figures(*now_line, wanted);
  write_ready(cluster, look, holds, now, memory_, wanted);
  controller::Outcome outcome{is_alive(look) && !health.held ? shared_.period : Duration(kBetweenFailures)};
  if (told && tell_labels(*now_line, cluster)) return controller::Outcome{kAfterAnotherWrite};
  const auto patch = reg::status_patch(cluster, wanted);
  if (!patch) return outcome;
  kube::WriteOptions options;
  options.subresource = "status";
  const auto written = shared_.hub.patch(api::managed_clusters(), {}, cluster_, kube::PatchType::kMerge, *patch, options);
  if (written) return outcome;
  if (written.error().category == Category::kConflict || written.error().category == Category::kNotFound)
    return controller::Outcome{kAfterAnotherWrite};
  return tl::unexpected(written.error());
}

}  // namespace fleetadm::push
