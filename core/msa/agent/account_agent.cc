#include "core/msa/agent/account_agent.h"

#include <algorithm>
#include <utility>

#include "core/api/managed_service_account.h"
#include "core/msa/agent/due_times.h"
#include "core/msa/rules/demand.h"
#include "core/msa/rules/not_ours.h"
#include "core/msa/rules/token_secret.h"
#include "core/msa/rules/token_status.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::msa {
namespace {

using controller::Outcome;
namespace res = kube::resources;

constexpr const char* kLog = "accounts";
// An object whose account or Secret somebody refuses is tried again so often, and at most one of all of them a second.
constexpr Duration kRetryAtLeast = std::chrono::minutes(1);
constexpr Duration kRetryEach = std::chrono::seconds(1);

/// Of an object that was there a moment ago: it will be looked at again.
Error changed_meanwhile(Error error, const std::string& what) {
  if (error.category == Category::kNotFound && error.reason != kube::kUnknownPath) error.category = Category::kConflict;
  return error.wrap(what);
}

/// Nothing is wrong with the object: somebody else was faster, or a server cannot be reached. It is tried again.
bool passes(const Error& error) {
  if (error.reason == kNotOurs) return false;
  return error.category == Category::kConflict || error.category == Category::kUnavailable ||
         error.category == Category::kTimeout || error.category == Category::kCancelled || error.category == Category::kGone;
}

class AccountAgent {
 public:
  AccountAgent(kube::Client hub, kube::Client spoke, AccountAgentOptions options, std::shared_ptr<kube::Informer> objects,
               std::shared_ptr<kube::Informer> accounts)
      : hub_(std::move(hub)),
        spoke_(std::move(spoke)),
        options_(std::move(options)),
        objects_(std::move(objects)),
        accounts_(std::move(accounts)) {}

  Result<Outcome> reconcile(const std::string& name) {
    const kube::CachedPtr cached = objects_->get(kube::object_key(options_.cluster, name));
    const Json object = cached ? cached->decode() : Json();
    if (!cached || is_deleting(object)) {
      due_.forget(name);
      return remove_account(name);
    }
    const Instant now = options_.clock->now();
    const auto ends = ends_at(object);
    if (ends && now >= *ends) return end(object);
    Result<std::optional<Instant>> next = hold(object);
    if (!next) {
      if (passes(next.error())) return tl::unexpected(next.error());
      log::warn(kLog, name + ": " + next.error().message);
      const bool lost = next.error().reason == kNotOurs;
      FLEETADM_CHECK(write_status(object, [&](Json& live) { report_failure(live, next.error().message, lost, now); }));
      next = now + std::max<Duration>(kRetryAtLeast, kRetryEach * objects_->list().size());
    }
    // The object is gone, and its event comes.
    if (!*next) return Outcome{};
    Instant at = **next;
    if (ends) at = std::min(at, *ends);
    due_.set(name, at);
    if (at - now > options_.tick) return Outcome{};
    return Outcome{std::max<Duration>(at - now, Duration::zero())};
  }

  /// What the clock makes due until it is read again, and one Secret in its turn.
  Result<Outcome> tick(controller::Queue& queue) {
    const Instant now = options_.clock->now();
    for (auto& [name, at] : due_.until(now + options_.tick)) queue.add_after(name, at - now);
    if (!looked_ || now - *looked_ >= options_.look || now < *looked_) {
      // At its start the agent looks at each of them.
      const auto next = looked_ ? due_.next_in_turn() : std::nullopt;
      if (next) queue.add(*next);
      looked_ = now;
    }
    return Outcome{options_.tick};
  }

 private:
  /// Its object is gone; only what has the label is in the cache.
  Result<Outcome> remove_account(const std::string& name) const {
    const kube::CachedPtr account = accounts_->get(kube::object_key(options_.ns, name));
    if (!account) return Outcome{};
    FLEETADM_TRY(const auto live, hub_.find(api::managed_service_accounts(), options_.cluster, name));
    if (live && !is_deleting(*live)) return Outcome{};  // there is a new one; its event comes
    kube::DeleteOptions exactly;
    exactly.uid = account->uid();
    const auto removed = spoke_.remove(res::service_accounts(), options_.ns, name, exactly);
    if (!removed && removed.error().category != Category::kNotFound && removed.error().category != Category::kConflict)
      return tl::unexpected(removed.error().wrap("cannot delete ServiceAccount " + options_.ns + "/" + name));
    log::info(1, kLog, name + ": the ServiceAccount is deleted");
    return Outcome{};
  }

  Result<Outcome> end(const Json& object) {
    // The cache may be behind its deletion.
    FLEETADM_TRY(const auto live, hub_.find(api::managed_service_accounts(), options_.cluster, name_of(object)));
    if (!live || is_deleting(*live) || uid_of(*live) != uid_of(object)) return Outcome{};
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(object);
    const auto removed = hub_.remove(api::managed_service_accounts(), options_.cluster, name_of(object), exactly);
    if (!removed && removed.error().code == 403) {
      // Under a hub whose manager does it, the agent may not.
      log::info(1, kLog, name_of(object) + ": its time is over, and it is the hub's to delete it");
      due_.set(name_of(object), options_.clock->now() + kRetryAtLeast);
      return Outcome{};
    }
    if (!removed && removed.error().category != Category::kNotFound && removed.error().category != Category::kConflict)
      return tl::unexpected(removed.error());
    log::info(1, kLog, name_of(object) + ": its time is over, it is deleted");
    return Outcome{};
  }

  /// Account, token, Secret and status are as they should be, until the moment in the answer; nothing: the object is gone.
  Result<std::optional<Instant>> hold(const Json& object) const {
    FLEETADM_CHECK(check_account_name(name_of(object)));
    FLEETADM_CHECK(validity_seconds(object));
    FLEETADM_TRY(const std::string account_uid, known_account(name_of(object)));
    FLEETADM_TRY(const auto secret, hub_.find(res::secrets(), options_.cluster, name_of(object)));
    if (secret) FLEETADM_CHECK(check_secret(*secret, object));
    const auto claims = secret ? claims_for(*secret, account_uid) : std::nullopt;
    const Instant now = options_.clock->now();
    if (!claims || now >= refresh_at(object, *claims, now)) return refresh(object, secret);
    const Json wanted = secret_object(*secret, object, token_in(*secret), options_.authority);
    if (wanted != *secret) {
      const auto mended = hub_.update(res::secrets(), wanted);
      if (!mended)
        return fail(changed_meanwhile(mended.error(), "cannot write Secret " + options_.cluster + "/" + name_of(object)));
      log::info(1, kLog, name_of(object) + ": the Secret is mended");
    }
    FLEETADM_CHECK(write_status(object, [&](Json& live) { report_token(live, *claims, std::nullopt, now); }));
    return std::optional<Instant>(refresh_at(object, *claims, now));
  }

  /// The account's uid by the cache; where it has none, by the cluster.
  Result<std::string> known_account(const std::string& name) const {
    if (const kube::CachedPtr known = accounts_->get(kube::object_key(options_.ns, name))) return std::string(known->uid());
    return live_account(name);
  }

  Result<std::string> live_account(const std::string& name) const {
    FLEETADM_TRY(auto account, spoke_.find(res::service_accounts(), options_.ns, name));
    if (!account) {
      FLEETADM_TRY(const Json wanted, owned_account(name));
      auto created = spoke_.create(res::service_accounts(), options_.ns, wanted);
      if (!created) return tl::unexpected(created.error().wrap("cannot create ServiceAccount " + options_.ns + "/" + name));
      account = std::move(*created);
    }
    FLEETADM_CHECK(check_account(*account));
    return uid_of(*account);
  }

  Result<Json> owned_account(const std::string& name) const {
    Json wanted = account_object(options_.ns, name);
    if (options_.owner.empty()) return wanted;
    FLEETADM_TRY(const auto owner, spoke_.find(res::service_accounts(), options_.ns, options_.owner));
    // What would be made now would stay behind.
    if (!owner || is_deleting(*owner))
      return fail(Category::kUnavailable,
                  "ServiceAccount " + options_.ns + "/" + options_.owner + " is gone: the add-on is being removed");
    wanted["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"name", options_.owner}, {"uid", uid_of(*owner)}}});
    return wanted;
  }

  /// A new token. Caches may lag behind: before one is asked for, both objects are read.
  Result<std::optional<Instant>> refresh(const Json& known, const std::optional<Json>& secret) const {
    const std::string name = name_of(known);
    FLEETADM_TRY(const auto object, hub_.find(api::managed_service_accounts(), options_.cluster, name));
    if (!object || is_deleting(*object) || uid_of(*object) != uid_of(known)) return std::optional<Instant>();
    FLEETADM_TRY(const std::int64_t seconds, validity_seconds(*object));
    FLEETADM_TRY(const std::string account_uid, live_account(name));
    auto claims = secret ? claims_for(*secret, account_uid) : std::nullopt;
    const Instant now = options_.clock->now();
    if (claims && now < refresh_at(*object, *claims, now)) {
      FLEETADM_CHECK(write_status(known, [&](Json& live) { report_token(live, *claims, std::nullopt, now); }));
      return std::optional<Instant>(refresh_at(*object, *claims, now));
    }
    FLEETADM_TRY(const std::string token, request_token(name, seconds));
    claims = token_claims(token);
    if (!claims || claims->account_uid != account_uid)
      return fail(Category::kConflict, "the token is not of ServiceAccount " + options_.ns + "/" + name);
    const Json wanted = secret_object(secret.value_or(Json()), *object, token, options_.authority);
    const Result<Json> stored =
        secret ? hub_.update(res::secrets(), wanted) : hub_.create(res::secrets(), options_.cluster, wanted);
    if (!stored) return fail(changed_meanwhile(stored.error(), "cannot write Secret " + options_.cluster + "/" + name));
    const auto report = [&](Json& live) -> Status {
      if (uid_of(live) != uid_of(known)) return fail(Category::kConflict, "the object was replaced");
      report_token(live, *claims, now, now);
      return {};
    };
    FLEETADM_CHECK(kube::modify_known(hub_, api::managed_service_accounts(), *object, report, "status"));
    log::info(1, kLog, name + ": the token is refreshed");
    Json reported = *object;
    report_token(reported, *claims, now, now);
    return std::optional<Instant>(refresh_at(reported, *claims, now));
  }

  Result<std::string> request_token(const std::string& name, std::int64_t seconds) const {
    const Json request{
        {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", seconds}}}};
    const auto answer = spoke_.post(res::service_accounts().path(options_.ns, name, "token"), request, false);
    if (!answer)
      return fail(changed_meanwhile(answer.error(), "cannot request a token of ServiceAccount " + options_.ns + "/" + name));
    return str(*answer, {"status", "token"});
  }

  /// Writes nothing where nothing changes.
  Status write_status(const Json& known, const std::function<void(Json&)>& report) const {
    Json wanted = known;
    report(wanted);
    if (wanted == known) return {};
    const auto change = [&](Json& live) -> Status {
      if (uid_of(live) != uid_of(known)) return fail(Category::kConflict, "the object was replaced");
      report(live);
      return {};
    };
    const auto written = hub_.modify(api::managed_service_accounts(), options_.cluster, name_of(known), change, "status");
    if (!written && written.error().category != Category::kNotFound) return tl::unexpected(written.error());
    return {};
  }

  kube::Client hub_;
  kube::Client spoke_;
  AccountAgentOptions options_;
  std::shared_ptr<kube::Informer> objects_;
  std::shared_ptr<kube::Informer> accounts_;
  DueTimes due_;
  std::optional<Instant> looked_;  // of tick() alone
};

}  // namespace

void add_account_agent(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                       const AccountAgentOptions& options) {
  kube::InformerOptions of_cluster;
  of_cluster.ns = options.cluster;
  kube::InformerOptions labelled;
  labelled.ns = options.ns;
  labelled.label_selector = std::string(api::kManagedServiceAccountLabel) + "=true";
  const auto objects = manager.informer(hub, api::managed_service_accounts(), of_cluster);
  const auto accounts = manager.informer(spoke, res::service_accounts(), labelled);
  const auto agent = std::make_shared<AccountAgent>(hub, spoke, options, objects, accounts);
  controller::ControllerOptions row;
  row.name = kLog;
  row.workers = 4;
  const auto queue =
      manager.add(row, [agent](const std::string& name, const std::stop_token&) { return agent->reconcile(name); });
  const auto by_name = [](const kube::CachedObject& object) {
    return std::vector<std::string>{kube::split_key(object.key()).name};
  };
  controller::Manager::enqueue_on(*objects, queue, by_name);
  controller::Manager::enqueue_on(*accounts, queue, by_name);
  controller::ControllerOptions clock;
  clock.name = "clock";
  const auto ticks =
      manager.add(clock, [agent, queue](const std::string&, const std::stop_token&) { return agent->tick(*queue); });
  ticks->add("tick");
}

}  // namespace fleetadm::msa
