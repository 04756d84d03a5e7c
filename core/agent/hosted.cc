#include "core/agent/hosted.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/agent/bootstrap_source.h"
#include "core/agent/member_args.h"
#include "core/api/hosted_member.h"
#include "core/controller/memory.h"
#include "core/controller/worker_pool.h"
#include "core/registration/expiry/figures.h"
#include "core/registration/expiry/hosted_hops.h"
#include "core/registration/join/member_token.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"
#include "kubeclient/lease/leader.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {
namespace {

using join::MemberAccess;
using join::MemberCredentials;

constexpr std::size_t kMemberThreads = 12;              // of all members: as many as one agent has, and some for works that hang
constexpr auto kMemberAgain = std::chrono::minutes(1);  // at a member that cannot run
constexpr auto kHostedTidying = std::chrono::minutes(1);
constexpr auto kRenewalAgain = std::chrono::minutes(10);  // at a token that could not be renewed
constexpr auto kTokenLook = std::chrono::hours(6);        // clocks are set, and machines sleep
constexpr auto kRenewalTimeout = std::chrono::seconds(10);
constexpr const char* kLock = "klusterlet-agent-lock";

/// What a member's Secret says.
struct Member {
  std::string cluster;
  MemberAccess access;
  std::vector<std::string> bootstrap_secrets;  // none: those of all
  std::string args;                            // of this member alone
  std::string by;                              // api::kHostedByClaim

  /// But for its credentials, which an agent takes while it runs.
  bool same_agent(const Member& other) const {
    return cluster == other.cluster && access.frame == other.access.frame && bootstrap_secrets == other.bootstrap_secrets &&
           args == other.args && by == other.by;
  }
};

Result<std::string> kubeconfig_of(const Json& secret) {
  FLEETADM_TRY(std::string kubeconfig, base64_decode(str(secret, {"data", registration::agent::kKubeconfigKey})));
  if (kubeconfig.empty()) return fail(Category::kInvalid, "it has no key \"kubeconfig\"");
  return kubeconfig;
}

Result<Member> member_of(const Json& secret) {
  Member member;
  member.cluster = label_of(secret, api::kHostedMemberLabel);
  FLEETADM_TRY(const std::string kubeconfig, kubeconfig_of(secret));
  FLEETADM_TRY(member.access, join::member_access(kubeconfig));
  FLEETADM_TRY(member.args, base64_decode(str(secret, {"data", api::kHostedArgsKey})));
  member.bootstrap_secrets = api::hosted_bootstraps(secret);
  for (const std::string& name : member.bootstrap_secrets) {
    if (is_dns_subdomain(name)) continue;
    return fail(Category::kInvalid, "its annotation " + std::string(api::kHostedBootstrapAnnotation) + " names no Secret: \"" +
                                        log::escape_terminal(name) + "\"");
  }
  member.by = annotation_of(secret, api::kHostedByAnnotation);
  if (member.by.empty()) member.by = namespace_of(secret);
  return member;
}

std::vector<std::string> key_of_member(const kube::CachedObject& secret) {
  if (label_of(secret.decode(), api::kHostedMemberLabel).empty()) return {};
  return {secret.key()};
}

AgentParts with_pool(AgentParts parts) {
  if (!parts.pool) parts.pool = std::make_shared<controller::WorkerPool>(kMemberThreads);
  return parts;
}

class HostedMembers {
 public:
  HostedMembers(const HostedOptions& options, const kube::RestConfig& home, AgentParts parts)
      : options_(options),
        home_(parts.connect(home)),
        parts_(with_pool(std::move(parts))),
        tokens_(
            controller::Manager::Options{.threads = 1, .clock = parts_.clock, .pool = parts_.pool, .log_file = parts_.log_file}),
        manager_(controller::Manager::Options{
            .threads = 1, .health_address = options.agent.health_address, .clock = parts_.clock, .log_file = parts_.log_file}) {
    parts_.home = home_;
    manager_.add_page("/debug/agent", [this](std::string_view) {
      return controller::Manager::Page{200, "application/json", dump_json(describe())};
    });
    manager_.add_metrics([this] { return registration::expiry::figures(certificates()); });
    kube::InformerOptions which;
    which.ns = options.ns;
    which.project = drop_secret_content;  // it is read again when it is needed
    // All of the namespace, which has those of members and little else: a watch for each Secret of each member takes more memory.
    const auto secrets = manager_.informer(home_, kube::resources::secrets(), std::move(which));
    parts_.secrets = std::make_shared<SecretWatch>(secrets);
    const auto queue = manager_.add({.name = "hosted-members"},
                                    [this](const std::string& key, const std::stop_token&) { return reconcile(key); });
    controller::Manager::enqueue_on(*secrets, queue, key_of_member);
    renewals_ = tokens_.add({.name = "hosted-member-tokens"},
                            [this](const std::string& name, const std::stop_token&) { return renew(name); });
    manager_.add({.name = "memory", .resync = kHostedTidying, .resync_keys = {"process"}},
                 [](const std::string&, const std::stop_token&) -> Result<controller::Outcome> {
                   controller::give_memory_back();
                   return controller::Outcome{};
                 });
  }

  const kube::Client& home() const { return home_; }
  Status serve_health() { return manager_.serve_health(); }
  Status run(std::stop_token stop) {
    FLEETADM_CHECK(tokens_.start());
    const Status done = manager_.run(std::move(stop));
    tokens_.stop();
    std::map<std::string, Running> ended;
    const std::lock_guard lock(mutex_);
    ended.swap(running_);
    return done;
  }

 private:
  struct Running {
    std::optional<Member> member;  // as it runs
    std::shared_ptr<MemberCredentials> credentials;
    std::unique_ptr<RunningAgent> agent;
    std::string trouble;        // why it does not run
    std::string token_trouble;  // why its token could not be renewed
  };

  Result<controller::Outcome> reconcile(const std::string& key) {
    const std::string name = key.substr(key.find('/') + 1);
    FLEETADM_TRY(const std::optional<Json> secret, home_.find(kube::resources::secrets(), options_.ns, name));
    if (!secret || label_of(*secret, api::kHostedMemberLabel).empty()) {
      end(name);
      return controller::Outcome{};
    }
    const Result<Member> wanted = member_of(*secret);
    {
      const std::lock_guard lock(mutex_);
      const auto now = running_.find(name);
      if (wanted && now != running_.end() && now->second.agent && now->second.member->same_agent(*wanted)) {
        now->second.credentials->set(wanted->access.credentials);
        renewals_->add(name);
        return controller::Outcome{};
      }
    }
    const std::string trouble_before = end(name);
    Running started = begin(name, wanted);
    controller::Outcome outcome;
    if (!started.trouble.empty()) {
      outcome.requeue_after = kMemberAgain;
      if (started.trouble != trouble_before)
        log::warn("agent", "hosted member (secret " + log::escape_terminal(key) + "): " + started.trouble);
    }
    if (started.agent) renewals_->add(name);
    const std::lock_guard lock(mutex_);
    running_[name] = std::move(started);
    return outcome;
  }

  /// Writes a new token into the member's Secret when it is time; the Secret's change has the agent take it.
  Result<controller::Outcome> renew(const std::string& name) {
    FLEETADM_TRY(std::optional<Json> secret, home_.find(kube::resources::secrets(), options_.ns, name));
    if (!secret || label_of(*secret, api::kHostedMemberLabel).empty()) return controller::Outcome{};
    const auto member = member_of(*secret);
    if (!member) return controller::Outcome{};  // it does not run, and says why
    const auto due = join::renew_token_at(member->access.credentials.token);
    if (!due) return controller::Outcome{};
    const Instant now = parts_.clock->now();
    if (now < *due) return controller::Outcome{std::min<Duration>(*due - now, kTokenLook)};
    const Status renewed = write_new_token(*std::move(secret), member->access, now);
    note_token(name, member->cluster, renewed);
    return controller::Outcome{renewed ? Duration::zero() : Duration(kRenewalAgain)};
  }

  Status write_new_token(Json secret, const MemberAccess& access, Instant now) const {
    FLEETADM_TRY(const std::string kubeconfig, kubeconfig_of(secret));
    const kube::Client client = parts_.connect(access.config).with_timeout(kRenewalTimeout);
    FLEETADM_TRY(const std::string renewed, join::with_new_token(kubeconfig, client, now));
    secret["data"][registration::agent::kKubeconfigKey] = base64_encode(renewed);
    return home_.update(kube::resources::secrets(), secret).map([](const Json&) {});
  }

  void note_token(const std::string& name, const std::string& cluster, const Status& renewed) {
    std::string trouble = renewed ? std::string() : renewed.error().message;
    std::string before;
    {
      const std::lock_guard lock(mutex_);
      const auto now = running_.find(name);
      if (now != running_.end()) before = std::exchange(now->second.token_trouble, trouble);
    }
    if (renewed) {
      log::info(0, "agent", "hosted member " + cluster + ": its token is renewed");
    } else if (trouble != before) {
      log::warn("agent", "hosted member " + cluster + ": " + trouble);
    }
  }

  /// Why it did not run.
  std::string end(const std::string& name) {
    Running ended;  // its agent ends when the mutex is free again: it waits for what it is about
    {
      const std::lock_guard lock(mutex_);
      const auto found = running_.find(name);
      if (found == running_.end()) return {};
      ended = std::move(found->second);
      running_.erase(found);
    }
    if (ended.agent) log::info(0, "agent", "hosted member " + ended.member->cluster + " ends");
    return ended.trouble;
  }

  Running begin(const std::string& name, const Result<Member>& wanted) {
    const auto not_running = [](const Error& error) { return Running{.trouble = error.message}; };
    if (!wanted) return not_running(wanted.error());
    if (const std::string other = runs_as(wanted->cluster); !other.empty()) {
      return not_running(fail(Category::kConflict, "cluster " + wanted->cluster + " is already that of secret " + other).value());
    }
    auto credentials = std::make_shared<MemberCredentials>(wanted->access.credentials);
    auto agent = start(*wanted, credentials);
    if (!agent) return not_running(agent.error());
    log::info(0, "agent", "hosted member " + wanted->cluster + " (secret " + log::escape_terminal(name) + ") begins");
    return {.member = *wanted, .credentials = std::move(credentials), .agent = std::move(*agent)};
  }

  Result<std::unique_ptr<RunningAgent>> start(const Member& member, std::shared_ptr<MemberCredentials> credentials) const {
    kube::RestConfig config = member.access.config;
    config.credentials = std::move(credentials);
    AgentOptions options = options_.agent;
    FLEETADM_CHECK(apply_member_args(member.args, options));
    options.health_address.clear();
    options.cluster_name = member.cluster;
    options.hub_kubeconfig_secret = api::hosted_credential_secret(member.cluster);
    options.home_ns = options_.ns;
    options.hosted_by = member.by;
    if (!member.bootstrap_secrets.empty()) options.bootstrap_secrets = member.bootstrap_secrets;
    return start_agent(options, config, parts_);
  }

  /// The Secret of a running member of this name, or an empty text.
  std::string runs_as(const std::string& cluster) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, running] : running_) {
      if (running.agent && running.member->cluster == cluster) return name;
    }
    return {};
  }

  std::vector<registration::expiry::Hop> certificates() const {
    std::vector<registration::expiry::Hop> hops;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, running] : running_) {
      if (!running.agent) continue;
      std::vector<registration::expiry::Hop> more = running.agent->certificates();
      hops.insert(hops.end(), more.begin(), more.end());
      if (const auto now = running.credentials->current()) {
        hops.push_back(registration::expiry::member_credential(running.member->cluster, *now));
        registration::expiry::judge(hops.back(), {}, parts_.clock->now());
      }
    }
    return hops;
  }

  Json describe() const {
    Json members = Json::object();
    const std::lock_guard lock(mutex_);
    for (const auto& [name, running] : running_) {
      Json& one = members[name];
      one = running.agent ? running.agent->describe() : Json{{"phase", "not running"}, {"detail", running.trouble}};
      if (running.member) one["cluster"] = running.member->cluster;
      if (!running.token_trouble.empty()) one["token"] = running.token_trouble;
    }
    return {{"members", std::move(members)}};
  }

  const HostedOptions& options_;
  kube::Client home_;
  AgentParts parts_;
  mutable std::mutex mutex_;
  std::map<std::string, Running> running_;  // by the Secret's name
  std::shared_ptr<controller::Queue> renewals_;
  // Last: their controllers use the others. A member that does not answer holds up no other one's begin.
  controller::Manager tokens_;
  controller::Manager manager_;
};

}  // namespace

Status run_hosted(const HostedOptions& options, const kube::RestConfig& home, const AgentParts& parts, std::stop_token stop) {
  controller::keep_memory_small();
  HostedMembers members(options, home, parts);
  FLEETADM_CHECK(members.serve_health());
  const auto serve = [&members](std::stop_token until) { return members.run(std::move(until)); };
  if (!options.agent.leader_elect) return serve(stop);
  kube::LeaderOptions election;
  election.ns = options.ns;
  election.name = kLock;
  election.identity = options.agent.instance;
  return kube::run_as_leader(members.home(), election, serve, stop);
}

}  // namespace fleetadm::agent
