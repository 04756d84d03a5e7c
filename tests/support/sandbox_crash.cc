#include "tests/support/sandbox_crash.h"

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "core/sandbox/fleet/home.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/blocking_watch.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
constexpr const char* kSandbox = "crash";
constexpr const char* kNamespace = "default";
constexpr int kWriters = 4;

std::int64_t version_of(const Json& object) {
  const auto text = resource_version_of(object);
  return text.empty() ? 0 : std::stoll(text);
}

/// The serving process, and a client of its hub.
class Victim {
 public:
  Victim(std::string binary, std::filesystem::path root) : binary_(std::move(binary)), home_(root), root_(std::move(root)) {}

  Status start() {
    sandbox::ChildSpec spec;
    spec.program = binary_;
    spec.args = {"sandbox", "up", "--foreground", "--name", kSandbox, "--clusters", "0", "--nodes=false"};
    spec.environment = {"FLEETADM_SANDBOX_DIR=" + root_.string(), "PATH=/usr/bin:/bin", "HOME=" + root_.string()};
    spec.output_file = (root_ / "output").string();
    FLEETADM_TRY(auto child, sandbox::Child::start(spec));
    child_.emplace(std::move(child));
    const auto until = Steady::now() + 60s;
    while (Steady::now() < until) {
      if (!child_->running()) return fail(Category::kInternal, "the sandbox ended by itself");
      if (answers()) return {};
      std::this_thread::sleep_for(10ms);
    }
    return fail(Category::kTimeout, "the sandbox does not answer");
  }

  void kill() {
    child_->signal(SIGKILL);
    child_->wait(10s);
  }

  kube::Client client() const { return kube::Client::connect(config_); }

 private:
  bool answers() {
    if (!home_.running(kSandbox)) return false;
    kube::ConfigOverrides overrides;
    overrides.kubeconfig = home_.kubeconfig(kSandbox).string();
    const auto file = kube::Kubeconfig::load(overrides);
    if (!file) return false;
    const auto config = file->resolve(overrides);
    if (!config) return false;
    config_ = *config;
    return client().with_timeout(2s).get(kube::resources::namespaces(), "", kNamespace).has_value();
  }

  std::string binary_;
  sandbox::SandboxHome home_;
  std::filesystem::path root_;
  std::optional<sandbox::Child> child_;
  kube::RestConfig config_;
};

/// What clients were told, by all of them.
class Ledger {
 public:
  void created(const std::string& name, std::int64_t version) {
    const std::lock_guard lock(mutex_);
    ++acknowledged_;
    there_[name] = version;
    changes_[version] = "creation of " + name;
    if (version <= listed_) seen_.insert(version);  // the list was faster than the answer
  }
  void removed(const std::string& name) {
    const std::lock_guard lock(mutex_);
    ++acknowledged_;
    there_.erase(name);
    gone_.insert(name);
  }
  void unknown(const std::string& name) {
    const std::lock_guard lock(mutex_);
    there_.erase(name);
    unknown_.insert(name);
  }
  void seen(const std::string& type, const std::string& name, std::int64_t version) {
    const std::lock_guard lock(mutex_);
    ++events_;
    if (version <= last_seen_) skipped_.push_back("event " + std::to_string(version) + " after " + std::to_string(last_seen_));
    last_seen_ = version;
    if (type == "ADDED") seen_.insert(version);
    if (type == "ADDED") seen_names_.insert(name);
    if (type == "DELETED") seen_names_.erase(name);
  }
  /// The watch was told that it missed something, and knows everything up to a list's version instead.
  void listed(std::int64_t version, const std::set<std::string>& names) {
    const std::lock_guard lock(mutex_);
    ++told_gone_;
    for (auto& [at, what] : changes_) {
      if (at > last_seen_ && at <= version) seen_.insert(at);
    }
    last_seen_ = std::max(last_seen_, version);
    listed_ = version;
    seen_names_ = names;
  }
  std::int64_t last_seen() const {
    const std::lock_guard lock(mutex_);
    return last_seen_;
  }
  void begin_at(std::int64_t version) { last_seen_ = version; }

  void compare(const std::map<std::string, std::int64_t>& found, CrashOutcome& out) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, version] : there_) {
      const auto at = found.find(name);
      if (at == found.end() || at->second != version) out.lost.push_back("creation of " + name);
    }
    for (const auto& name : gone_) {
      if (found.contains(name)) out.lost.push_back("removal of " + name);
    }
  }
  void finish(const std::map<std::string, std::int64_t>& found, CrashOutcome& out) {
    const std::lock_guard lock(mutex_);
    for (const auto& [version, what] : changes_) {
      if (!seen_.contains(version)) out.skipped.push_back(what + " at " + std::to_string(version));
    }
    for (const auto& name : seen_names_) {
      if (!found.contains(name)) out.skipped.push_back("the watch knows " + name + ", which is not there");
    }
    for (const auto& [name, version] : found) {
      if (!seen_names_.contains(name)) out.skipped.push_back("the watch does not know " + name);
    }
    out.skipped.insert(out.skipped.end(), skipped_.begin(), skipped_.end());
    out.acknowledged = acknowledged_;
    out.events = events_;
    out.told_gone = told_gone_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> there_;
  std::set<std::string> gone_;
  std::set<std::string> unknown_;
  std::map<std::int64_t, std::string> changes_;
  std::set<std::int64_t> seen_;
  std::set<std::string> seen_names_;
  std::vector<std::string> skipped_;
  std::int64_t last_seen_ = 0;
  std::int64_t listed_ = 0;
  int acknowledged_ = 0;
  int events_ = 0;
  int told_gone_ = 0;
};

Result<std::int64_t> list_maps(const kube::Client& client, std::map<std::string, std::int64_t>& found) {
  FLEETADM_TRY(const Json list, client.list(kube::resources::config_maps(), kNamespace, {.label_selector = "crash=yes"}));
  for (const Json& item : list_at(list, {"items"})) found[name_of(item)] = version_of(item);
  return version_of(list);
}

void write(const kube::Client& client, Ledger& ledger, const std::string& prefix, const std::stop_token& stop) {
  std::vector<std::string> mine;
  for (int i = 0; !stop.stop_requested(); ++i) {
    const auto name = prefix + "-" + std::to_string(i);
    if (i % 5 == 4 && !mine.empty()) {
      const auto old = mine.back();
      mine.pop_back();
      if (client.remove(kube::resources::config_maps(), kNamespace, old)) {
        ledger.removed(old);
      } else {
        ledger.unknown(old);
        return;
      }
      continue;
    }
    const Json map = {{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", {{"name", name}, {"namespace", kNamespace}, {"labels", {{"crash", "yes"}}}}},
                      {"data", {{"value", std::string(200, 'x')}}}};
    const auto made = client.create(kube::resources::config_maps(), kNamespace, map);
    if (!made) return ledger.unknown(name);
    ledger.created(name, version_of(*made));
    mine.push_back(name);
  }
}

/// Watches from where the ledger's watch stopped until the connection ends, or (with `to`) that version is reached.
Status follow(const kube::Client& client, Ledger& ledger, const std::stop_token& stop, std::int64_t to) {
  const kube::ListOptions options = {.label_selector = "crash=yes"};
  while (!stop.stop_requested()) {
    kube::BlockingWatch watch(client, kube::resources::config_maps(), kNamespace, options, std::to_string(ledger.last_seen()),
                              10min);
    while (!stop.stop_requested()) {
      if (to > 0 && ledger.last_seen() >= to) return {};
      const auto next = watch.next(20ms, stop);
      if (const auto* event = std::get_if<kube::BlockingWatch::Event>(&next)) {
        ledger.seen(event->type, name_of(event->object), version_of(event->object));
      } else if (const auto* ended = std::get_if<kube::BlockingWatch::Ended>(&next)) {
        if (!ended->error || ended->error->category != Category::kGone) return {};
        std::map<std::string, std::int64_t> found;
        FLEETADM_TRY(const auto version, list_maps(client, found));
        std::set<std::string> names;
        for (const auto& [name, at] : found) names.insert(name);
        ledger.listed(version, names);
        break;
      }
    }
  }
  return {};
}

}  // namespace

Result<CrashOutcome> crash_sandbox(const std::string& binary, int rounds, int longest_ms) {
  const TemporaryFolder folder("crash");
  Victim victim(binary, folder.path());
  CrashOutcome out;
  Ledger ledger;
  std::minstd_rand random{std::random_device{}()};
  FLEETADM_CHECK(victim.start());
  std::map<std::string, std::int64_t> found;
  FLEETADM_TRY(const auto begin, list_maps(victim.client(), found));
  ledger.begin_at(begin);
  for (int round = 0; round < rounds; ++round) {
    const auto client = victim.client().with_timeout(5s);
    std::vector<std::jthread> threads;
    threads.emplace_back([&](const std::stop_token& stop) { static_cast<void>(follow(client, ledger, stop, 0)); });
    for (int w = 0; w < kWriters; ++w) {
      threads.emplace_back([&, w](const std::stop_token& stop) {
        write(client.with_stop(stop), ledger, "r" + std::to_string(round) + "-w" + std::to_string(w), stop);
      });
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50 + static_cast<int>(random() % 1000000) % std::max(1, longest_ms - 50)));
    victim.kill();
    for (auto& thread : threads) thread.request_stop();
    threads.clear();
    ++out.rounds;
    FLEETADM_CHECK(victim.start());
    found.clear();
    FLEETADM_TRY(const auto version, list_maps(victim.client(), found));
    static_cast<void>(version);
    ledger.compare(found, out);
    if (!out.lost.empty()) break;
  }
  const auto client = victim.client();
  // One more change, so that there is an end to wait for.
  FLEETADM_TRY(const Json made, client.create(kube::resources::config_maps(), kNamespace,
                                              {{"apiVersion", "v1"},
                                               {"kind", "ConfigMap"},
                                               {"metadata", {{"name", "end"}, {"labels", {{"crash", "yes"}}}}}}));
  std::jthread watching([&](const std::stop_token& stop) { static_cast<void>(follow(client, ledger, stop, version_of(made))); });
  const auto until = Steady::now() + 20s;
  while (ledger.last_seen() < version_of(made) && Steady::now() < until) std::this_thread::sleep_for(10ms);
  watching.request_stop();
  watching.join();
  found.clear();
  FLEETADM_TRY(const auto version, list_maps(client, found));
  static_cast<void>(version);
  ledger.finish(found, out);
  victim.kill();
  return out;
}

}  // namespace fleetadm::testkit
