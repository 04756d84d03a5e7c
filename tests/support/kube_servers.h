// Real API servers for tests: etcd, kube-apiserver and (where asked for) kube-controller-manager on free loopback ports, with
// a PKI of their own. They are stopped by the destructor, and by the kernel where this process dies first.
//
//   auto servers = KubeServer::start_all({{.name = "hub"}, {.name = "spoke"}});
//
// Nothing here goes through fleetadm's transport: what is under test must not be what the tests stand on.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/node/child.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/equipment.h"
#include "tests/support/network_namespace.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {
class ContainerTable;
}

namespace fleetadm::testkit {

class ServerReset;

/// One answered request of the audit log. Writes carry their bodies, reads do not.
struct AuditEntry {
  std::string id;
  std::string stage;  // "ResponseComplete", "ResponseStarted" (watches), "Panic"
  std::string verb;   // get, list, watch, create, update, patch, delete, deletecollection
  std::string uri;
  std::string user;
  std::vector<std::string> groups;
  std::string impersonated_user;
  std::string user_agent;
  std::string api_group;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  int code = 0;
  Json request;   // null where not recorded
  Json response;  // null where not recorded

  bool is_write() const { return verb != "get" && verb != "list" && verb != "watch"; }
  /// As whom the request acted. A sandbox notes only this, as `user`.
  const std::string& acting() const { return impersonated_user.empty() ? user : impersonated_user; }
};

struct KubeServerOptions {
  std::string name = "kube";       // in kubeconfigs (context and cluster name) and log file names
  bool controller_manager = true;  // signing, garbage collection, namespaces, Deployments, Jobs, service accounts
  std::vector<std::string> apiserver_flags;
  bool embedded = false;  // a sandbox server where servers are real ones: with a real controller manager, or its own controllers
  std::shared_ptr<const sandbox::ContainerTable> containers;  // of a sandbox server: what it shows logs of and runs commands in
  std::vector<std::string> controller_manager_flags;
  std::shared_ptr<NetworkNamespace> network;  // that real servers are in; null: this process's
  std::string address = "127.0.0.1";          // that real servers serve, and no other unless flags say so
  int port = 0;                               // 0: a free one
  bool fresh = false;                         // that no test has used before (see server_pool.h)

  bool operator==(const KubeServerOptions&) const = default;
};

class KubeServer {
 public:
  /// The folder with the programs: $FLEETADM_KUBE_BIN, else what tests/kube/build.sh answers (it builds them once).
  /// kUnavailable with one line that says how to get them.
  static const Result<std::string>& programs();
  /// $FLEETADM_TEST_SERVERS=sandbox: servers are the sandbox's, in this process, with its controllers. They cannot be frozen, and
  /// take no flags.
  static bool on_sandbox();

  static Result<std::unique_ptr<KubeServer>> start(KubeServerOptions options = {});
  /// Started in parallel; all are ready (default service account and root CA included) when it returns.
  static Result<std::vector<std::unique_ptr<KubeServer>>> start_all(std::vector<KubeServerOptions> options);
  ~KubeServer();
  KubeServer(const KubeServer&) = delete;
  KubeServer& operator=(const KubeServer&) = delete;

  const KubeServerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  const std::shared_ptr<NetworkNamespace>& network() const { return options_.network; }
  const std::string& url() const { return url_; }  // https://127.0.0.1:<port>, unless the options have another address
  int port() const { return port_; }
  int etcd_port() const { return etcd_port_; }  // of 127.0.0.1, without TLS
  /// The CA that signed the server's certificate and that client certificates are checked against.
  const pki::KeyPair& ca() const { return ca_; }
  const pki::KeyPair& admin() const { return admin_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  /// A kubeconfig (text) of system:masters, and the file with it (mode 0600).
  const std::string& kubeconfig() const { return kubeconfig_; }
  std::string kubeconfig_file() const;
  /// A kubeconfig of another user, by a client certificate that this server's CA signed.
  std::string kubeconfig_for(std::string_view common_name, const std::vector<std::string>& organizations = {}) const;
  std::string kubeconfig_file_for(std::string_view common_name, const std::vector<std::string>& organizations = {}) const;
  /// The same server with a bearer token.
  std::string kubeconfig_with_token(std::string_view token) const;

  /// Answered requests so far (of this test's, where the server had others before), oldest first, without those of the servers'
  /// own components.
  std::vector<AuditEntry> audit(const std::function<bool(const AuditEntry&)>& keep = {}) const;
  std::string audit_file() const { return (folder() / "audit.log").string(); }
  /// Entries from here on: remember this, and pass it to audit_since().
  std::uintmax_t audit_position() const;
  std::vector<AuditEntry> audit_since(std::uintmax_t position, const std::function<bool(const AuditEntry&)>& keep = {}) const;

  /// GET or any other verb as system:masters, with libcurl alone. Answers status and body.
  struct Answer {
    int status = 0;
    std::string body;
    Json json() const;  // null where it is none
  };
  Answer request(std::string_view method, std::string_view path, std::string_view body = {},
                 std::string_view content_type = "application/json") const;
  /// Objects as system:masters: null where the server answers 404, a Json Status for other errors.
  Json get(std::string_view path) const;
  /// POST of an object to its collection. The answer's code and body.
  Answer create(std::string_view collection_path, const Json& object) const;
  /// Asks until `done` answers true or the time is over; the last answer decides.
  bool eventually(std::string_view path, const std::function<bool(const Json&)>& done,
                  Duration timeout = std::chrono::seconds(30)) const;

  /// Faults: a server that is there but does not answer (SIGSTOP), and one that is gone and comes back on the same port.
  void freeze();
  void thaw();
  void stop_apiserver();
  Status start_apiserver();
  /// Another CA of the same name, as after a reinstallation on the old data: the server's certificate, and the clients that it
  /// takes, are of it; tokens stay good. ca() and kubeconfigs are the new ones.
  Status replace_ca();
  /// The server's certificate, what its signer signs, ca() and kubeconfigs are of `ca` from now on; it takes clients of
  /// `others` (PEM), too.
  Status change_ca(pki::KeyPair ca, std::string others);

  /// For one test after the other (server_pool.h): notes how the server is, before anyone has used it; ends its controllers,
  /// after which it waits for the next (false: it cannot be put back to how it was); puts it back, with new controllers.
  Status remember_beginning();
  bool rest();
  Status begin_again();

 private:
  explicit KubeServer(KubeServerOptions options);
  Status prepare();
  Status launch();
  Status start_apiserver_process();
  Result<sandbox::Child> start_process(sandbox::ChildSpec spec) const;
  struct Embedded;
  Status prepare_embedded();
  Status start_embedded();
  void stop_embedded();
  void write_embedded_ca(const std::string& other_cas) const;
  Status make_clients(const std::string& other_cas);
  Status write_files();
  Result<pki::KeyPair> new_ca() const;
  Status write_ca_and_server(const std::string& other_cas);
  std::string kubeconfig_with(const pki::KeyPair& user) const;
  Status wait_ready(Duration timeout);
  std::string ended();  // a sentence about a process that ended, with the end of its log; empty while all run
  sandbox::ChildSpec etcd_spec() const;
  sandbox::ChildSpec apiserver_spec() const;
  sandbox::ChildSpec controller_manager_spec() const;

  KubeServerOptions options_;
  TemporaryFolder folder_;
  std::string url_;
  int port_ = 0;
  int etcd_port_ = 0;
  int etcd_peer_port_ = 0;
  pki::KeyPair ca_;
  pki::KeyPair admin_;
  pki::KeyPair fixture_;  // the identity of request(): system:masters, never in the audit log
  std::string kubeconfig_;
  std::unique_ptr<Embedded> embedded_;
  std::unique_ptr<ServerReset> reset_;
  std::uintmax_t audit_begin_ = 0;
  bool only_written_to_ = true;
  std::optional<sandbox::Child> etcd_;
  std::optional<sandbox::Child> apiserver_;
  std::optional<sandbox::Child> controller_manager_;
};

/// A loopback port that nobody listens on, outside the range that the kernel gives to clients.
int free_port();
/// Asks until `done` answers true or the time is over: each `pause`, and up to four times less often the longer it takes.
bool eventually(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(30),
                Duration pause = std::chrono::milliseconds(50));

/// In a test's SetUp: skips (CI=true: fails) with one line where real servers cannot be had.
#define FLEETADM_NEEDS_KUBE_SERVERS()                                                                        \
  do {                                                                                                       \
    if (const auto& programs = ::fleetadm::testkit::KubeServer::programs(); !programs) {                     \
      if (::fleetadm::testkit::in_ci()) FAIL() << programs.error().message << "; " << programs.error().hint; \
      GTEST_SKIP() << programs.error().message << "; " << programs.error().hint;                             \
    }                                                                                                        \
  } while (false)

}  // namespace fleetadm::testkit
