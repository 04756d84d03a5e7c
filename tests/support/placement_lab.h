// A hub's API server with nothing but the fleet's types, and one scheduler at a time on it: our placement controller, our whole
// hub as a process, or upstream's placement controller. For suites and benchmarks that hold one against another.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/controller/controller.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/rest/client.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// Upstream's placement program in $FLEETADM_PEERS; nullopt: there is none.
std::optional<std::string> upstream_placement();

class PlacementLab {
 public:
  enum class Scheduler { kOurs, kOurHub, kUpstream };

  static Result<std::unique_ptr<PlacementLab>> start();
  ~PlacementLab();
  PlacementLab(const PlacementLab&) = delete;
  PlacementLab& operator=(const PlacementLab&) = delete;

  KubeServer& server() { return *server_; }
  const kube::Client& client() const { return *client_; }

  /// kOurs runs in this process; kOurHub is $FLEETADM_BINARY's `hub run`; kUpstream gets the client limits of its own benchmark
  /// (1,000 requests a second, bursts of 2,000). One at a time.
  Status run(Scheduler scheduler);
  /// Another program as the scheduler.
  Status run_program(const std::string& program, std::vector<std::string> args);
  void stop();
  /// The scheduler's process; 0 where it is none of its own.
  pid_t pid() const { return process_ ? process_->pid() : 0; }
  /// The end of the scheduler's log, where it is a process.
  std::string log() const;

  /// Creates an object as it is, its namespace where there is none yet, and its status by the subresource.
  Status put(Json object);
  /// Merges a change into an object.
  Status change(std::string_view kind, std::string_view ns, std::string_view name, const Json& change,
                std::string_view subresource = {});
  /// Removes every object of the scheduler's kinds; namespaces stay.
  Status clear();

  /// What schedulers leave of a placement and its namespace, times and versions apart:
  /// {"decisions": [{"name", "labels", "owner", "clusters"}], "status": {"numberOfSelectedClusters", "decisionGroups",
  /// "conditions": [{"type", "status", "reason", "message"}]}}.
  Result<Json> outcome(std::string_view ns, std::string_view name) const;
  /// The outcome once the placement has its conditions and nothing has changed for `quiet`; kTimeout.
  Result<Json> settled(std::string_view ns, std::string_view name, Duration timeout, Duration quiet) const;

 private:
  PlacementLab() = default;
  Status need_namespace(std::string_view ns);

  std::unique_ptr<KubeServer> server_;
  std::optional<kube::Client> client_;
  std::set<std::string, std::less<>> namespaces_;
  TemporaryFolder folder_{"placement-lab"};
  std::optional<sandbox::Child> process_;
  std::unique_ptr<controller::Manager> manager_;
  std::jthread thread_;
};

}  // namespace fleetadm::testkit
