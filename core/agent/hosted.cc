#include "core/agent/hosted.h"

#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "core/agent/bootstrap_source.h"
#include "core/controller/memory.h"
#include "core/controller/worker_pool.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/lease/leader.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {
namespace {

constexpr std::size_t kMemberThreads = 12;              // of all members: as many as one agent has, and some for works that hang
constexpr auto kMemberAgain = std::chrono::minutes(1);  // at a member that cannot run
constexpr auto kHostedTidying = std::chrono::minutes(1);
constexpr const char* kLock = "klusterlet-agent-lock";

/// What a member's Secret says.
struct Member {
  std::string cluster;
  std::string kubeconfig;
  std::vector<std::string> bootstrap_secrets;  // none: those of all
  bool operator==(const Member&) const = default;
};

Result<Member> member_of(const Json& secret) {
  Member member;
  member.cluster = label_of(secret, kHostedMemberLabel);
  FLEETADM_TRY(member.kubeconfig, base64_decode(str(secret, {"data", registration::agent::kKubeconfigKey})));
  if (member.kubeconfig.empty()) return fail(Category::kInvalid, "it has no key \"kubeconfig\"");
  FLEETADM_CHECK(check_holds_data_only(member.kubeconfig));
  std::istringstream names(annotation_of(secret, kHostedBootstrapAnnotation));
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty()) continue;
    if (!is_dns_subdomain(name))
      return fail(Category::kInvalid, "its annotation " + std::string(kHostedBootstrapAnnotation) + " names no Secret: \"" +
                                          log::escape_terminal(name) + "\"");
    member.bootstrap_secrets.push_back(name);
  }
  return member;
}

class HostedMembers {
 public:
  HostedMembers(const HostedOptions& options, const kube::RestConfig& home, AgentParts parts)
      : options_(options),
        home_(parts.connect(home)),
        parts_(std::move(parts)),
        manager_(controller::Manager::Options{
            .threads = 1, .health_address = options.agent.health_address, .clock = parts_.clock, .log_file = parts_.log_file}) {
    parts_.home = home_;
    if (!parts_.pool) parts_.pool = std::make_shared<controller::WorkerPool>(kMemberThreads);
    manager_.add_page("/debug/agent", [this](std::string_view) {
      return controller::Manager::Page{200, "application/json", dump_json(describe())};
    });
    kube::InformerOptions which;
    which.ns = options.ns;
    which.label_selector = kHostedMemberLabel;
    which.project = drop_secret_content;  // it is read again when it is needed
    const auto secrets = manager_.informer(home_, kube::resources::secrets(), std::move(which));
    const auto queue = manager_.add({.name = "hosted-members"},
                                    [this](const std::string& key, const std::stop_token&) { return reconcile(key); });
    controller::Manager::enqueue_on(*secrets, queue);
    manager_.add({.name = "memory", .resync = kHostedTidying, .resync_keys = {"process"}},
                 [](const std::string&, const std::stop_token&) -> Result<controller::Outcome> {
                   controller::give_memory_back();
                   return controller::Outcome{};
                 });
  }

  const kube::Client& home() const { return home_; }
  Status serve_health() { return manager_.serve_health(); }
  Status run(std::stop_token stop) {
    const Status done = manager_.run(std::move(stop));
    std::map<std::string, Running> ended;
    const std::lock_guard lock(mutex_);
    ended.swap(running_);
    return done;
  }

 private:
  struct Running {
    std::optional<Member> member;  // as it runs
    std::unique_ptr<RunningAgent> agent;
    std::string trouble;  // why it does not run
  };

  Result<controller::Outcome> reconcile(const std::string& key) {
    const std::string name = key.substr(key.find('/') + 1);
    FLEETADM_TRY(const std::optional<Json> secret, home_.find(kube::resources::secrets(), options_.ns, name));
    if (!secret || label_of(*secret, kHostedMemberLabel).empty()) {
      end(name);
      return controller::Outcome{};
    }
    const Result<Member> wanted = member_of(*secret);
    {
      const std::lock_guard lock(mutex_);
      const auto now = running_.find(name);
      if (wanted && now != running_.end() && now->second.agent && now->second.member == *wanted) return controller::Outcome{};
    }
    const std::string trouble_before = end(name);
    Running started = begin(name, wanted);
    controller::Outcome outcome;
    if (!started.trouble.empty()) {
      outcome.requeue_after = kMemberAgain;
      if (started.trouble != trouble_before)
        log::warn("agent", "hosted member (secret " + log::escape_terminal(key) + "): " + started.trouble);
    }
    const std::lock_guard lock(mutex_);
    running_[name] = std::move(started);
    return outcome;
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
    const auto not_running = [](const Error& error) { return Running{std::nullopt, nullptr, error.message}; };
    if (!wanted) return not_running(wanted.error());
    if (const std::string other = runs_as(wanted->cluster); !other.empty()) {
      return not_running(fail(Category::kConflict, "cluster " + wanted->cluster + " is already that of secret " + other).value());
    }
    auto agent = start(*wanted);
    if (!agent) return not_running(agent.error());
    log::info(0, "agent", "hosted member " + wanted->cluster + " (secret " + log::escape_terminal(name) + ") begins");
    return {*wanted, std::move(*agent), {}};
  }

  Result<std::unique_ptr<RunningAgent>> start(const Member& member) const {
    FLEETADM_TRY(const kube::Kubeconfig parsed, kube::Kubeconfig::from_text(member.kubeconfig, "the member's kubeconfig"));
    kube::ConfigOverrides overrides;
    overrides.interactive = false;
    FLEETADM_TRY(const kube::RestConfig config, parsed.resolve(overrides));
    AgentOptions options = options_.agent;
    options.health_address.clear();
    options.cluster_name = member.cluster;
    options.hub_kubeconfig_secret = member.cluster + std::string(kHostedCredentialSuffix);
    options.home_ns = options_.ns;
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

  Json describe() const {
    Json members = Json::object();
    const std::lock_guard lock(mutex_);
    for (const auto& [name, running] : running_) {
      Json& one = members[name];
      one = running.agent ? running.agent->describe() : Json{{"phase", "not running"}, {"detail", running.trouble}};
      if (running.member) one["cluster"] = running.member->cluster;
    }
    return {{"members", std::move(members)}};
  }

  const HostedOptions& options_;
  kube::Client home_;
  AgentParts parts_;
  mutable std::mutex mutex_;
  std::map<std::string, Running> running_;  // by the Secret's name
  controller::Manager manager_;             // last: its controller uses the others
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
