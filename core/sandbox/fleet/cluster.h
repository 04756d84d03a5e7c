// One cluster of a sandbox: its PKI, its API server behind a listener, its controllers.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/sandbox/api/api_server.h"
#include "core/sandbox/controllers/timers.h"
#include "core/sandbox/fault/board.h"
#include "core/serve/http/server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {

struct ClusterOptions {
  std::string name;              // "hub", "c1"
  std::filesystem::path folder;  // keys, certificates and the store; empty: nothing is kept
  int port = 0;                  // 0: any free one
  std::string former_cas;        // PEM: it takes clients of these, too, and its pods trust them
  std::shared_ptr<Clock> clock;
  Store::Limits store;
  AuditHook seen;                                    // of every request; may be empty
  bool controllers = true;                           // false: somebody else's controller manager does their work
  std::shared_ptr<Timers> timers;                    // of its controllers, shared by many; null: some of its own
  std::shared_ptr<FaultBoard> faults;                // null: none ever
  std::shared_ptr<const ContainerTable> containers;  // of its process node, where this process serves it
};

class Cluster {
 public:
  /// Keys and objects are read from the folder, or made. The runtime must outlive the cluster.
  static Result<std::unique_ptr<Cluster>> start(serve::HttpRuntime& runtime, const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& name() const;
  int port() const;
  std::string url() const;  // https://127.0.0.1:<port>
  const pki::KeyPair& ca() const;
  /// The users[].user of a cluster administrator (system:masters), by client certificate.
  Result<Json> admin_user() const;
  ApiServer& api();
  /// No controller has anything to do.
  bool settled() const;
  /// Makes the cluster as the board of faults says it is now: its network, its serving certificate, its clock. One thread.
  Status follow_faults();

 private:
  struct Inner;
  explicit Cluster(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace fleetadm::sandbox
