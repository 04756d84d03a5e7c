// A fleet of real API servers for tests: one hub and some spokes, each with a controller manager and (where asked for) a process
// node, and fleetadm run against them as its users run it: as a process.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/node/child.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// What a finished run of the binary left.
struct Ran {
  int code = -1;
  std::string out;
  std::string err;
  Json json() const;         // of stdout; null where it is none
  std::string both() const;  // for failure messages
};

struct RunOptions {
  std::string input;                               // stdin
  std::map<std::string, std::string> environment;  // on top of KUBECONFIG, HOME and PATH
  Duration timeout = std::chrono::minutes(3);      // then it is killed and code is -1
  const NetworkNamespace* network = nullptr;       // where it runs; null: in this process's
};

/// Runs the binary under test with HOME (the folder), PATH and what the options say; its output is kept in the folder.
Ran run_fleetadm(const TemporaryFolder& folder, const std::vector<std::string>& args, const RunOptions& options);

class Fleet {
 public:
  /// Spokes are named c1, c2, …; kubeconfig contexts are "hub", "c1", ….
  static Result<std::unique_ptr<Fleet>> start(int spokes, bool nodes = true, KubeServerOptions of_hub = {},
                                              KubeServerOptions of_spokes = {});
  ~Fleet();

  KubeServer& hub() { return *servers_.front(); }
  KubeServer& spoke(int i) { return *servers_.at(static_cast<std::size_t>(i)); }  // 1…
  /// Runs fleetadm with all contexts in $KUBECONFIG.
  Ran run(const std::vector<std::string>& args, const RunOptions& options = {}) const;
  /// Starts the node of the hub (0) or a spoke, or kills it as a power cut would (its pods die with it).
  Status start_node(int i);
  void kill_node(int i);
  void stop_node(int i);

  const TemporaryFolder& folder() const { return folder_; }
  /// The binary under test.
  static std::string binary();

 private:
  TemporaryFolder folder_{"fleet"};
  std::vector<std::unique_ptr<KubeServer>> servers_;
  std::map<int, sandbox::Child> nodes_;
};

/// The bytes of a file; empty where there is none.
std::string read_file(const std::string& path);
/// Names of everything on a server that a fleet could leave behind, as "plural/ns/name".
std::set<std::string> inventory(const KubeServer& server);
/// The status of a condition of the object at a path; empty where there is none.
std::string condition(const KubeServer& server, std::string_view path, std::string_view type);
/// Asks until the condition has the status.
bool condition_becomes(const KubeServer& server, std::string_view path, std::string_view type, std::string_view status,
                       Duration timeout = std::chrono::seconds(60));
/// Requests of an audit log that changed something, without leases, events, reviews and tokens.
std::vector<AuditEntry> writes_since(const KubeServer& server, std::uintmax_t position);

inline constexpr std::string_view kManagedClusters = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

}  // namespace fleetadm::testkit
