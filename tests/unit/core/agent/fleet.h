// A hub and a spoke in memory, with a hub that approves, signs and accepts, and a wire that can be cut after any write.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/agent/agent.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"

namespace fleetadm::testkit {

/// What all connections of one agent process share: it dies after its k-th answered write.
struct Wire {
  std::atomic<int> writes{0};
  std::atomic<int> dies_after{-1};  // -1: never
  std::atomic<bool> dead{false};
};

class MemoryFleet {
 public:
  explicit MemoryFleet(std::string cluster = "c1");
  ~MemoryFleet();
  MemoryFleet(const MemoryFleet&) = delete;
  MemoryFleet& operator=(const MemoryFleet&) = delete;

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeApi> other_hub = FakeApi::make();
  std::shared_ptr<FakeApi> spoke = FakeApi::make();

  std::atomic<bool> approves{true};
  std::atomic<bool> accepts{true};
  std::atomic<int> certificate_seconds{36000};

  /// Writes a bootstrap secret for "hub" or "other-hub".
  void bootstrap_with(const std::string& name, const std::string& secret = "bootstrap-hub-kubeconfig",
                      const std::string& more_cas = {});
  /// From now on the hubs answer 401 to this client certificate.
  void reject(const std::string& certificate);

  /// An agent process: starts now, is stopped and joined by the destructor or by stop().
  class Process {
   public:
    using AddWork = decltype(agent::AgentParts::add_work);
    Process(MemoryFleet& fleet, agent::AgentOptions options, int dies_after = -1);
    /// With the controllers of works that `add_work` adds.
    Process(MemoryFleet& fleet, agent::AgentOptions options, AddWork add_work);
    ~Process() { stop(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    void stop();
    bool dead() const { return wire_->dead; }
    int writes() const { return wire_->writes; }
    /// After stop().
    const Status& outcome() const { return outcome_; }

   private:
    void start(MemoryFleet& fleet, agent::AgentOptions options, AddWork add_work);

    std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
    Status outcome_;
    std::jthread thread_;
  };

  kube::RestConfig spoke_config() const;
  /// Short waits, the fleet's cluster name.
  agent::AgentOptions options() const;
  kube::Client connect(const kube::RestConfig& config, const std::shared_ptr<Wire>& wire);

  // What is stored.
  std::optional<Json> managed_cluster(const std::shared_ptr<FakeApi>& at) const;
  std::vector<Json> requests(const std::shared_ptr<FakeApi>& at) const;
  /// A decoded key of the hub kubeconfig secret.
  std::string stored(const std::string& key) const;
  /// And has reported all that it reports: nothing is left to write.
  bool joined(const std::shared_ptr<FakeApi>& at) const;
  /// As whom clients of the spoke were made; empty: as the agent itself.
  std::set<std::string> spoke_users() const;

 private:
  class Line;
  void serve(const std::shared_ptr<FakeApi>& at);

  std::string cluster_;
  pki::KeyPair ca_;
  mutable std::mutex mutex_;
  std::set<std::string> rejected_;
  std::set<std::string> spoke_users_;
  std::jthread controllers_;
};

/// Asks until true, for at most `timeout`.
bool soon(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(20));

}  // namespace fleetadm::testkit
