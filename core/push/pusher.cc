#include "core/push/pusher.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/worker_pool.h"
#include "core/push/member.h"
#include "core/registration/agent/served_apis.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"

namespace fleetadm::push {
namespace {

namespace r = kube::resources;
using controller::Outcome;

constexpr auto kTokenLook = std::chrono::hours(6);  // clocks are set, and machines sleep
constexpr auto kTokenAgain = std::chrono::minutes(1);
constexpr auto kAgain = std::chrono::seconds(2);
constexpr int kReporters = 16;
constexpr int kApiReaders = 4;
constexpr auto kApisLook = std::chrono::minutes(5);
constexpr auto kApisAgain = std::chrono::minutes(1);  // where a part of them could not be read

/// What the hub says of the acceptance; empty: nothing yet.
std::string acceptance_of(const Json& cluster) {
  const Json* condition = controller::find_condition(cluster, api::kConditionHubAccepted);
  return condition == nullptr ? std::string() : str(*condition, {"status"});
}

bool is_available(const Json& cluster) { return controller::condition_is(cluster, api::kConditionAvailable, "True"); }

/// It is read again when it is needed.
void drop_data(Json& secret) {
  secret.erase("data");
  erase_at(secret, {"metadata", "annotations"});
}

class Pusher {
 public:
  Pusher(const kube::Client& hub, const PushOptions& options)
      : shared_{hub,
                options.hub_id,
                options.ns.empty() ? std::string(api::kPushNamespace) : options.ns,
                options.hub_ns,
                options.connect,
                options.clock,
                std::make_shared<controller::WorkerPool>(options.threads),
                options.period,
                options.holds,
                options.give_up_after},
        replicas_(options.replicas) {}

  void watch(controller::Manager& manager) {
    kube::InformerOptions of_secrets;
    of_secrets.ns = shared_.ns;
    of_secrets.label_selector = std::string(api::kPushMemberLabel);
    of_secrets.project = drop_data;
    secrets_ = manager.informer(shared_.hub, r::secrets(), std::move(of_secrets));
    kube::InformerOptions of_clusters;
    of_clusters.label_selector = std::string(api::kModeLabel) + "=" + std::string(api::kPushMode);
    clusters_ = manager.informer(shared_.hub, api::managed_clusters(), std::move(of_clusters));
  }
  const std::shared_ptr<kube::Informer>& secrets() const { return secrets_; }
  const std::shared_ptr<kube::Informer>& clusters() const { return clusters_; }
  std::shared_ptr<controller::Queue> reports;
  std::shared_ptr<controller::Queue> leases;
  std::shared_ptr<controller::Queue> tokens;
  std::shared_ptr<controller::Queue> apis;

  /// A member comes, goes, or has another credential.
  Result<Outcome> keep(const std::string& cluster) {
    const bool known = clusters_->get(cluster) != nullptr;
    if (!known || !is_mine(cluster)) {
      end(cluster, known ? "another replica dials it" : "the hub dials it no longer");
      return Outcome{};
    }
    FLEETADM_TRY(const auto secret, shared_.hub.find(r::secrets(), shared_.ns, cluster));
    const auto credential = [&]() -> Result<Credential> {
      if (!secret || label_of(*secret, api::kPushMemberLabel) != cluster)
        return fail(Category::kNotFound, "there is no Secret " + shared_.ns + "/" + cluster);
      if (!annotation_of(*secret, api::kWorksLetGo).empty()) return fail(Category::kConflict, "the cluster leaves the fleet");
      return credential_of(*secret);
    };
    const auto member = begin(cluster);
    member->set(credential());
    // Its works have ended with its connections.
    if (secret && annotation_of(*secret, api::kWorksLetGo) == api::kLetGoAsked) FLEETADM_CHECK(tell_let_go(*secret));
    for (const auto& queue : {reports, leases, tokens, apis}) queue->add(cluster);
    return Outcome{};
  }

  Result<Outcome> report(const std::string& cluster) {
    const auto member = find_member(cluster);
    const kube::CachedPtr now = clusters_->get(cluster);
    if (!member || !now) return Outcome{};
    auto outcome = member->report(now);
    if (outcome) return outcome;
    // Never after a long back-off: what is silent for five lease periods counts as gone.
    log::warn("push", cluster + ": " + outcome.error().message);
    return Outcome{kAgain};
  }

  Result<Outcome> lease(const std::string& cluster) {
    const auto member = find_member(cluster);
    if (!member) return Outcome{};
    auto outcome = member->renew_lease(clusters_->get(cluster));
    // The hub makes it once the cluster is accepted.
    if (!outcome) return Outcome{kAgain};
    return outcome;
  }

  /// What the member serves, of one that is well: another would only cost time.
  Result<Outcome> serve(const std::string& cluster) {
    const auto member = find_member(cluster);
    const auto access = member ? member->access() : std::nullopt;
    const auto now = cached(cluster);
    if (!access || !now || is_deleting(*now) || !is_available(*now)) return Outcome{};
    const auto complete = registration::agent::publish_served_apis(shared_.hub, access->client, *now, shared_.clock->now());
    if (!complete) log::warn("push", cluster + ": its APIs are not told: " + complete.error().message);
    return Outcome{complete && *complete ? Duration(kApisLook) : Duration(kApisAgain)};
  }

  /// Writes a new token into the Secret when it is time; the Secret's change has the member take it.
  Result<Outcome> token(const std::string& cluster) {
    const auto member = find_member(cluster);
    const auto access = member ? member->access() : std::nullopt;
    if (!access) return Outcome{};
    const auto due = join::renew_token_at(access->credential.access.credentials.token);
    if (!due) return Outcome{};
    const Instant now = shared_.clock->now();
    if (now < *due) return Outcome{std::min<Duration>(*due - now, kTokenLook)};
    const Status renewed = renew(cluster, access->renewer, now);
    if (!renewed) {
      log::warn("push", cluster + ": its token was not renewed: " + renewed.error().message);
      return Outcome{kTokenAgain};
    }
    log::info(0, "push", cluster + ": its token is renewed");
    return Outcome{};
  }

 private:
  Status tell_let_go(Json secret) const {
    secret["metadata"]["annotations"][std::string(api::kWorksLetGo)] = std::string(api::kLetGoDone);
    return shared_.hub.update(r::secrets(), secret).map([](const Json&) {});
  }

  Status renew(const std::string& cluster, const kube::Client& client, Instant now) const {
    FLEETADM_TRY(Json secret, shared_.hub.get(r::secrets(), shared_.ns, cluster));
    FLEETADM_TRY(const std::string kubeconfig, base64_decode(str(secret, {"data", "kubeconfig"})));
    FLEETADM_TRY(const std::string renewed, join::with_new_token(kubeconfig, client, now));
    secret["data"]["kubeconfig"] = base64_encode(renewed);
    return shared_.hub.update(r::secrets(), secret).map([](const Json&) {});
  }

  std::optional<Json> cached(const std::string& cluster) const {
    const kube::CachedPtr found = clusters_->get(cluster);
    if (found == nullptr) return std::nullopt;
    return found->decode();
  }

  bool is_mine(const std::string& cluster) const { return !replicas_ || replicas_->is_mine(cluster); }

  /// Null also of one that is another replica's by now, where that is not seen to yet.
  std::shared_ptr<Member> find_member(const std::string& cluster) const {
    if (!is_mine(cluster)) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = members_.find(cluster);
    return found == members_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Member> begin(const std::string& cluster) {
    const std::lock_guard lock(mutex_);
    auto& member = members_[cluster];
    if (!member) {
      const std::weak_ptr<controller::Queue> queue = reports;
      member = std::make_shared<Member>(shared_, cluster, [queue, cluster] {
        if (const auto now = queue.lock()) now->add(cluster);
      });
    }
    return member;
  }

  void end(const std::string& cluster, const char* why) {
    std::shared_ptr<Member> ended;  // ends when the mutex is free again: it waits for what it is about
    const std::lock_guard lock(mutex_);
    const auto found = members_.find(cluster);
    if (found == members_.end()) return;
    ended = std::move(found->second);
    members_.erase(found);
    log::info(0, "push", cluster + ": " + why);
  }

  const Shared shared_;
  const std::shared_ptr<Replicas> replicas_;
  std::shared_ptr<kube::Informer> secrets_;
  std::shared_ptr<kube::Informer> clusters_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Member>> members_;
};

std::vector<std::string> name_in_key(const kube::CachedObject& object) { return {kube::split_key(object.key()).name}; }

}  // namespace

void add_push_members(controller::Manager& manager, const kube::Client& hub, const PushOptions& options) {
  const auto pusher = std::make_shared<Pusher>(hub, options);
  pusher->watch(manager);
  const auto members = manager.add({.name = "push-members", .workers = 2},
                                   [pusher](const std::string& key, const std::stop_token&) { return pusher->keep(key); });
  pusher->reports = manager.add({.name = "push-health", .workers = kReporters},
                                [pusher](const std::string& key, const std::stop_token&) { return pusher->report(key); });
  pusher->leases = manager.add({.name = "push-lease", .workers = 2},
                               [pusher](const std::string& key, const std::stop_token&) { return pusher->lease(key); });
  pusher->tokens = manager.add({.name = "push-token", .workers = 2},
                               [pusher](const std::string& key, const std::stop_token&) { return pusher->token(key); });
  pusher->apis = manager.add({.name = "push-apis", .workers = kApiReaders},
                             [pusher](const std::string& key, const std::stop_token&) { return pusher->serve(key); });
  controller::Manager::enqueue_on(*pusher->secrets(), members, name_in_key);
  // Whether it is there, accepted, and to be tried, is seen to at once; its status is our own.
  pusher->clusters()->on_event(
      [members, reports = pusher->reports, leases = pusher->leases, apis = pusher->apis, period = options.period](
          kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
        const std::string name = (after ? after : before)->key();
        if (type != kube::EventType::kModified) return members->add(name);
        leases->add(name);
        const Json was = before->decode();
        const Json is = after->decode();
        const bool asked = annotation_of(is, api::kReconnectAnnotation) != annotation_of(was, api::kReconnectAnnotation);
        if (asked || acceptance_of(is) != acceptance_of(was)) {
          reports->add(name);
        } else {
          reports->add_after(name, period);
        }
        if (is_available(is) && !is_available(was)) apis->add(name);
      });
  if (!options.replicas) return;
  options.replicas->join([members, clusters = pusher->clusters()] {
    for (const kube::CachedPtr& cluster : clusters->list()) members->add(cluster->key());
  });
}

}  // namespace fleetadm::push
