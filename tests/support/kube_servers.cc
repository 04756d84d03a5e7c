#include "tests/support/kube_servers.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <utility>

#include "kubeclient/base/host_port.h"
#include "tests/support/embedded_server.h"
#include "tests/support/https.h"
#include "tests/support/server_reset.h"

namespace fleetadm::testkit {
namespace {

namespace fs = std::filesystem;
using sandbox::Child;
using sandbox::ChildSpec;

constexpr std::string_view kServiceIp = "10.0.0.1";
constexpr auto kReadyTimeout = std::chrono::minutes(5);  // of a machine on which twenty start at a time; 5 s is usual
constexpr auto kStopGrace = std::chrono::seconds(5);

// An API server at rest does for nobody here: figures of etcd's file, and caches of types that no test watches.
constexpr std::array kAtRest = {
    "--etcd-db-metric-poll-interval=0",
    "--watch-cache-sizes=csidrivers.storage.k8s.io#0,csinodes.storage.k8s.io#0,csistoragecapacities.storage.k8s.io#0,"
    "volumeattachments.storage.k8s.io#0,volumeattributesclasses.storage.k8s.io#0,deviceclasses.resource.k8s.io#0,"
    "resourceclaims.resource.k8s.io#0,resourceclaimtemplates.resource.k8s.io#0,resourceslices.resource.k8s.io#0,"
    "ipaddresses.networking.k8s.io#0,servicecidrs.networking.k8s.io#0,podtemplates#0,replicationcontrollers#0,"
    "flowschemas.flowcontrol.apiserver.k8s.io#0,prioritylevelconfigurations.flowcontrol.apiserver.k8s.io#0"};

// Writes are recorded with their bodies, reads without; the servers' own components and this fixture not at all.
constexpr std::string_view kAuditPolicy = R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: ["system:apiserver", "system:kube-controller-manager", "test-fixture"]
  - level: None
    nonResourceURLs: ["/readyz*", "/livez*", "/healthz*"]
  - level: Metadata
    verbs: [get, list, watch]
  - level: RequestResponse
)";

// Only what a fleet's hub and spokes need: each further controller costs start-up time and memory.
constexpr std::string_view kControllers =
    "serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller,"
    "clusterrole-aggregation-controller,namespace-controller,garbage-collector-controller,"
    "certificatesigningrequest-signing-controller,deployment-controller,replicaset-controller,job-controller";

Result<std::string> find_programs() {
  if (KubeServer::on_sandbox()) return std::string("sandbox");
  auto folder =
      equipment("FLEETADM_KUBE_BIN", "tests/kube/build.sh", {"etcd", "kube-apiserver", "kube-controller-manager"},
                ", or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl");
  if (!folder) return fail(folder.error().wrap("no real API servers"));
  return folder;
}

// Of programs in Go: collecting garbage is a fifth of what a server takes to start, and most of them do not live long.
std::vector<std::string> go_environment() {
  std::vector<std::string> result = {"GOGC=off", "GOMEMLIMIT=400MiB"};
  for (const char* name : {"PATH", "HOME", "GOMAXPROCS"}) {
    if (const char* value = std::getenv(name)) result.push_back(std::string(name) + "=" + value);
  }
  return result;
}

// A server at rest has hundreds of timers a second, each of which wakes a processor up: those within 20 ms go off together.
// What is tried again by a timer comes that much later. A program's threads have the setting of the first. Without the right to
// it nothing changes.
void let_timers_wait(const Child& child) {
  std::ofstream("/proc/" + std::to_string(child.pid()) + "/timerslack_ns") << 20'000'000;
}

std::string last_lines(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(in.tellg());
  in.seekg(std::max<std::int64_t>(0, size - 1500));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int free_port() {
  static thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> ports(12000, 29999);  // below the node ports of Services and Linux' ephemeral ports
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = ports(random);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (free) return port;
  }
  return 0;
}

bool eventually(const std::function<bool()>& done, Duration timeout, Duration pause) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    const Duration waited = std::chrono::steady_clock::now() - begin;
    if (waited >= timeout) return false;
    std::this_thread::sleep_for(std::clamp(waited / 20, pause, 4 * pause));  // each look is work for a server
  }
  return true;
}

const Result<std::string>& KubeServer::programs() {
  static const Result<std::string> folder = find_programs();
  return folder;
}

KubeServer::KubeServer(KubeServerOptions options) : options_(std::move(options)), folder_(options_.name) {}

KubeServer::~KubeServer() {
  thaw();
  // Together, then one by one: the API server waits for its open watches, so it must not be waited for alone.
  for (auto* child : {&controller_manager_, &apiserver_}) {
    if (*child) (*child)->signal(SIGTERM);
  }
  if (controller_manager_) controller_manager_->stop(std::chrono::milliseconds(300));
  if (apiserver_) apiserver_->stop(std::chrono::milliseconds(300));
  if (etcd_) etcd_->stop(std::chrono::milliseconds(100));
}

Result<std::unique_ptr<KubeServer>> KubeServer::start(KubeServerOptions options) {
  std::vector<KubeServerOptions> one;
  one.push_back(std::move(options));
  FLEETADM_TRY(auto servers, start_all(std::move(one)));
  return std::move(servers.front());
}

Result<std::vector<std::unique_ptr<KubeServer>>> KubeServer::start_all(std::vector<KubeServerOptions> options) {
  if (!programs()) return tl::unexpected(programs().error());
  std::vector<std::unique_ptr<KubeServer>> servers;
  for (KubeServerOptions& each : options) {
    std::unique_ptr<KubeServer> server(new KubeServer(std::move(each)));
    FLEETADM_CHECK(server->prepare());
    FLEETADM_CHECK(server->launch());
    servers.push_back(std::move(server));
  }
  for (auto& server : servers) {
    Status ready = server->wait_ready(kReadyTimeout);
    // A port that was free when we looked may have been taken since: the processes end at once then, and new ports help.
    for (int tries = 0; !ready && tries < 2 && !server->ended().empty(); ++tries) {
      FLEETADM_CHECK(server->prepare());
      FLEETADM_CHECK(server->launch());
      ready = server->wait_ready(kReadyTimeout);
    }
    if (!ready) return tl::unexpected(ready.error());
  }
  return servers;
}

bool KubeServer::on_sandbox() {
  const char* servers = std::getenv("FLEETADM_TEST_SERVERS");
  return servers != nullptr && std::string_view(servers) == "sandbox";
}

Status KubeServer::prepare() {
  if (on_sandbox() || options_.embedded) return prepare_embedded();
  controller_manager_.reset();
  apiserver_.reset();
  etcd_.reset();
  port_ = options_.port > 0 ? options_.port : free_port();
  etcd_port_ = free_port();
  etcd_peer_port_ = free_port();
  url_ = "https://" + join_host_port(options_.address, std::to_string(port_));
  return write_files();
}

Status KubeServer::write_files() {
  FLEETADM_TRY(ca_, new_ca());
  FLEETADM_CHECK(write_ca_and_server({}));
  FLEETADM_TRY(const auto service_account_key, pki::generate_key());
  folder_.write("service-account.key", service_account_key);
  folder_.write("audit-policy.yaml", kAuditPolicy);
  return {};
}

Result<pki::KeyPair> KubeServer::new_ca() const { return pki::make_ca(options_.name + "-ca", std::chrono::hours(24 * 365)); }

Status KubeServer::write_ca_and_server(const std::string& other_cas) {
  pki::LeafOptions serving;
  serving.subject.common_name = "kube-apiserver";
  serving.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"};
  serving.ip_addresses = {"127.0.0.1", "::1", std::string(kServiceIp), options_.address};
  serving.server = true;
  serving.backdate = pki::kClocksApart;  // tests have clocks that differ
  FLEETADM_TRY(const auto server, pki::issue(ca_, serving));
  FLEETADM_CHECK(make_clients(other_cas));
  folder_.write("server.crt", server.certificate);
  folder_.write("server.key", server.key);
  return {};
}

Status KubeServer::make_clients(const std::string& other_cas) {
  auto client = [this](std::string_view name) {
    pki::LeafOptions leaf;
    leaf.subject = {.common_name = std::string(name), .organizations = {"system:masters"}, .organizational_units = {}};
    leaf.client = true;
    return pki::issue(ca_, leaf);
  };
  FLEETADM_TRY(admin_, client("kubernetes-admin"));
  FLEETADM_TRY(fixture_, client("test-fixture"));
  kubeconfig_ = kubeconfig_with(admin_);
  folder_.write("ca.crt", ca_.certificate);
  folder_.write("ca.key", ca_.key);
  folder_.write("trusted-cas.crt", ca_.certificate + other_cas);
  folder_.write("admin.kubeconfig", kubeconfig_);
  FLEETADM_TRY(const auto manager, client("system:kube-controller-manager"));
  folder_.write("controller-manager.kubeconfig", kubeconfig_with(manager));
  return {};
}

ChildSpec KubeServer::etcd_spec() const {
  const std::string url = "http://127.0.0.1:" + std::to_string(etcd_port_);
  const std::string peer = "http://127.0.0.1:" + std::to_string(etcd_peer_port_);
  std::vector<std::string> environment = go_environment();
  environment.emplace_back("GOMAXPROCS=1");  // it waits most of the time, and more threads only look for work
  return {.program = *programs() + "/etcd",
          .args = {"--name=default", "--data-dir=" + (folder() / ("etcd-" + std::to_string(etcd_port_))).string(),
                   "--listen-client-urls=" + url, "--advertise-client-urls=" + url, "--listen-peer-urls=" + peer,
                   "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer, "--unsafe-no-fsync",
                   // Alone and never killed: fewer looks for others, and fewer writes of what its log has.
                   "--heartbeat-interval=200", "--election-timeout=1000", "--backend-batch-interval=1s", "--log-level=warn"},
          .environment = std::move(environment),
          .folder = {},
          .output_file = (folder() / "etcd.log").string(),
          .mounts = {}};
}

ChildSpec KubeServer::apiserver_spec() const {
  auto file = [this](const char* name) { return (folder() / name).string(); };
  ChildSpec spec{.program = *programs() + "/kube-apiserver",
                 .args = {"--etcd-servers=http://127.0.0.1:" + std::to_string(etcd_port_),
                          "--secure-port=" + std::to_string(port_),
                          "--bind-address=" + options_.address,
                          "--advertise-address=" + options_.address,
                          "--endpoint-reconciler-type=none",
                          "--tls-cert-file=" + file("server.crt"),
                          "--tls-private-key-file=" + file("server.key"),
                          "--client-ca-file=" + file("trusted-cas.crt"),
                          "--authorization-mode=Node,RBAC",
                          "--enable-bootstrap-token-auth",
                          "--allow-privileged=true",
                          "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                          "--service-account-key-file=" + file("service-account.key"),
                          "--service-account-signing-key-file=" + file("service-account.key"),
                          "--service-cluster-ip-range=10.0.0.0/24",
                          "--profiling=false",
                          "--audit-policy-file=" + file("audit-policy.yaml"),
                          "--audit-log-path=" + file("audit.log"),
                          "--audit-log-mode=blocking",
                          "--audit-log-maxsize=2000"},
                 .environment = go_environment(),
                 .folder = {},
                 .output_file = file("kube-apiserver.log"),
                 .mounts = {}};
  spec.args.insert(spec.args.end(), kAtRest.begin(), kAtRest.end());
  spec.args.insert(spec.args.end(), options_.apiserver_flags.begin(), options_.apiserver_flags.end());
  return spec;
}

ChildSpec KubeServer::controller_manager_spec() const {
  auto file = [this](const char* name) { return (folder() / name).string(); };
  ChildSpec spec{.program = *programs() + "/kube-controller-manager",
                 .args = {"--kubeconfig=" + file("controller-manager.kubeconfig"), "--secure-port=0", "--leader-elect=false",
                          "--controllers=" + std::string(kControllers), "--root-ca-file=" + file("trusted-cas.crt"),
                          "--service-account-private-key-file=" + file("service-account.key"),
                          // Of the one signer that fleets need: each watches its files by an instance of inotify, which are few.
                          "--cluster-signing-kube-apiserver-client-cert-file=" + file("ca.crt"),
                          "--cluster-signing-kube-apiserver-client-key-file=" + file("ca.key"), "--kube-api-qps=200",
                          "--kube-api-burst=400", "--profiling=false"},
                 .environment = go_environment(),
                 .folder = {},
                 .output_file = file("kube-controller-manager.log"),
                 .mounts = {}};
  spec.args.insert(spec.args.end(), options_.controller_manager_flags.begin(), options_.controller_manager_flags.end());
  return spec;
}

Result<Child> KubeServer::start_process(ChildSpec spec) const {
  if (options_.network) options_.network->move_in(spec);
  FLEETADM_TRY(Child child, Child::start(spec));
  let_timers_wait(child);
  return child;
}

Status KubeServer::launch() {
  if (embedded_) return {};
  FLEETADM_TRY(etcd_, start_process(etcd_spec()));
  return start_apiserver_process();
}

Status KubeServer::start_apiserver_process() {
  FLEETADM_TRY(apiserver_, start_process(apiserver_spec()));
  return {};
}

std::string KubeServer::ended() {
  const std::array<std::pair<std::optional<Child>*, const char*>, 3> all{
      {{&etcd_, "etcd"}, {&apiserver_, "kube-apiserver"}, {&controller_manager_, "kube-controller-manager"}}};
  for (const auto& [child, program] : all) {
    if (!*child || (*child)->running()) continue;
    return std::string(program) + " of " + name() + " ended with code " + std::to_string((*child)->wait({})->code) + ": …" +
           last_lines(folder() / (std::string(program) + ".log"));
  }
  return {};
}

Status KubeServer::wait_ready(Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto wait_for = [&](const std::function<bool()>& done) {
    return testkit::eventually([&] { return done() || !ended().empty(); }, deadline - std::chrono::steady_clock::now(),
                               std::chrono::milliseconds(50)) &&
           ended().empty();
  };
  bool ready = wait_for([this] { return request("GET", "/readyz").status == 200; });
  if (ready && options_.controller_manager && !on_sandbox()) {
    // Not earlier: it would sleep for seconds after a refused first connection.
    if (!controller_manager_) {
      FLEETADM_TRY(controller_manager_, start_process(controller_manager_spec()));
    }
    ready = wait_for([this] {
      return request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200 &&
             request("GET", "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt").status == 200;
    });
  }
  if (ready) return {};
  const std::string why = ended();
  return fail(Category::kTimeout, why.empty() ? name() + " was not ready in time" : why);
}

void KubeServer::freeze() {
  if (!apiserver_) return;
  only_written_to_ = false;
  apiserver_->signal(SIGSTOP);
  // A busy machine's threads stop one after the other, and the last one may still answer.
  siginfo_t state{};
  ::waitid(P_PID, static_cast<id_t>(apiserver_->pid()), &state, WSTOPPED | WEXITED | WNOWAIT);
}

void KubeServer::thaw() {
  if (apiserver_) apiserver_->signal(SIGCONT);
}

void KubeServer::stop_apiserver() {
  if (embedded_) stop_embedded();
  if (!apiserver_) return;
  thaw();
  // Its controllers would come back to it by ever longer pauses.
  if (controller_manager_) controller_manager_->stop({});
  controller_manager_.reset();
  apiserver_->stop(std::chrono::milliseconds(300));
  apiserver_.reset();
}

Status KubeServer::start_apiserver() {
  if (embedded_) {
    FLEETADM_CHECK(start_embedded());
  } else if (!apiserver_) {
    FLEETADM_CHECK(start_apiserver_process());
  }
  return wait_ready(kReadyTimeout);
}

Status KubeServer::replace_ca() {
  FLEETADM_TRY(const pki::KeyPair another, new_ca());
  return change_ca(another, {});
}

Status KubeServer::change_ca(pki::KeyPair ca, std::string others) {
  only_written_to_ = false;
  stop_apiserver();
  ca_ = std::move(ca);
  if (!embedded_) {
    FLEETADM_CHECK(write_ca_and_server(others));
    return start_apiserver();
  }
  write_embedded_ca(others);
  FLEETADM_CHECK(start_embedded());
  FLEETADM_CHECK(make_clients(others));
  // kube-apiserver publishes its own.
  request("PATCH", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
          dump_json({{"data", {{"client-ca-file", ca_.certificate + others}}}}), "application/merge-patch+json");
  return wait_ready(kReadyTimeout);
}

KubeServer::Answer KubeServer::request(std::string_view method, std::string_view path, std::string_view body,
                                       std::string_view content_type) const {
  const HttpsAnswer answer = https({.url = url_ + std::string(path),
                                    .method = std::string(method),
                                    .body = std::string(body),
                                    .content_type = std::string(content_type),
                                    .ca = ca_.certificate,
                                    .certificate = fixture_.certificate,
                                    .key = fixture_.key,
                                    .network = options_.network.get(),
                                    .keep = method == "GET"});
  return {.status = answer.status, .body = answer.body};
}

Json KubeServer::Answer::json() const {
  auto parsed = parse_json(body);
  return parsed ? std::move(*parsed) : Json();
}

Json KubeServer::get(std::string_view path) const {
  const Answer answer = request("GET", path);
  return answer.status == 404 || answer.status == 0 ? Json() : answer.json();
}

KubeServer::Answer KubeServer::create(std::string_view collection_path, const Json& object) const {
  return request("POST", collection_path, dump_json(object));
}

bool KubeServer::eventually(std::string_view path, const std::function<bool(const Json&)>& done, Duration timeout) const {
  return testkit::eventually([&] { return done(get(path)); }, timeout);
}

}  // namespace fleetadm::testkit
