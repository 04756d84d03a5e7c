#include "tests/support/fleet.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/support/server_pool.h"

namespace fleetadm::testkit {
namespace {

std::string name_of_server(int i) { return i == 0 ? "hub" : "c" + std::to_string(i); }

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Json Ran::json() const {
  auto parsed = parse_json(out);
  return parsed ? *parsed : Json();
}

std::string Ran::both() const { return "exit " + std::to_string(code) + "\n--- stdout\n" + out + "\n--- stderr\n" + err; }

std::string Fleet::binary() {
  const char* path = std::getenv("FLEETADM_BINARY");
  return path == nullptr ? std::string("fleetadm") : std::string(path);
}

Result<std::unique_ptr<Fleet>> Fleet::start(int spokes, bool nodes, KubeServerOptions of_hub, KubeServerOptions of_spokes) {
  auto fleet = std::unique_ptr<Fleet>(new Fleet());
  of_hub.name = name_of_server(0);
  std::vector<KubeServerOptions> options{std::move(of_hub)};
  for (int i = 1; i <= spokes; ++i) {
    of_spokes.name = name_of_server(i);
    options.push_back(of_spokes);
  }
  FLEETADM_TRY(fleet->servers_, take_servers(std::move(options)));
  for (int i = 0; nodes && i <= spokes; ++i) FLEETADM_CHECK(fleet->start_node(i));
  return fleet;
}

Fleet::~Fleet() {
  for (auto& [i, node] : nodes_) node.signal(15);
  for (auto& [i, node] : nodes_) node.stop(std::chrono::seconds(5));
  while (!servers_.empty()) {  // the hub last: it is the one that every fleet needs again
    give_back(std::move(servers_.back()));
    servers_.pop_back();
  }
}

Status Fleet::start_node(int i) {
  const KubeServer& server = *servers_.at(static_cast<std::size_t>(i));
  sandbox::ChildSpec spec;
  spec.program = binary();
  const std::string name = "node-" + server.name();
  spec.args = {"sandbox", "node", "--kubeconfig", server.kubeconfig_file(),
               "--name",  name,   "--log-dir",    (folder_.path() / (name + "-pods")).string()};
  // Each spoke a little larger than the one before, so that prioritizers have something to tell apart.
  spec.args.push_back("--memory=" + std::to_string(4 + 4 * i) + "Gi");
  // A node that is killed leaves its state behind; in this folder it goes with the rest.
  spec.environment = {"HOME=" + folder_.path().string(), "TMPDIR=" + folder_.path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (folder_.path() / (name + ".log")).string();
  if (server.network()) server.network()->move_in(spec);
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  nodes_.insert_or_assign(i, std::move(child));
  return {};
}

void Fleet::kill_node(int i) {
  const auto at = nodes_.find(i);
  if (at == nodes_.end()) return;
  at->second.signal(9);
  at->second.wait(std::chrono::seconds(5));
  nodes_.erase(at);
}

void Fleet::stop_node(int i) {
  const auto at = nodes_.find(i);
  if (at == nodes_.end()) return;
  at->second.stop(std::chrono::seconds(20));
  nodes_.erase(at);
}

Ran Fleet::run(const std::vector<std::string>& args, const RunOptions& options) const {
  std::string kubeconfig;
  for (const auto& server : servers_) kubeconfig += (kubeconfig.empty() ? "" : ":") + server->kubeconfig_file();
  RunOptions with = options;
  with.environment.emplace("KUBECONFIG", kubeconfig);
  return run_fleetadm(folder_, args, with);
}

Ran run_fleetadm(const TemporaryFolder& folder, const std::vector<std::string>& args, const RunOptions& options) {
  static std::atomic<int> count = 0;
  const std::string base = (folder.path() / ("run-" + std::to_string(++count))).string();
  std::ofstream(base + ".in", std::ios::binary) << options.input;
  sandbox::ChildSpec spec;
  spec.program = "/bin/sh";
  spec.args = {"-c", R"(base=$1; shift; exec "$@" >"$base.out" 2>"$base.err" <"$base.in")", "sh", base, Fleet::binary()};
  spec.args.insert(spec.args.end(), args.begin(), args.end());
  std::map<std::string, std::string> environment = options.environment;
  environment.emplace("HOME", folder.path().string());
  environment.emplace("PATH", "/usr/bin:/bin");
  for (const auto& [name, value] : environment) spec.environment.push_back(name + "=" + value);
  if (options.network != nullptr) options.network->move_in(spec);
  Ran ran;
  auto child = sandbox::Child::start(spec);
  if (!child) {
    ran.err = child.error().message;
    return ran;
  }
  const auto status = child->wait(options.timeout);
  if (status) ran.code = status->code;
  if (!status) child->stop(std::chrono::seconds(1));
  ran.out = read_file(base + ".out");
  ran.err = read_file(base + ".err");
  return ran;
}

std::set<std::string> inventory(const KubeServer& server) {
  const std::vector<std::string> paths{
      "/api/v1/namespaces",
      "/api/v1/secrets",
      "/api/v1/configmaps",
      "/api/v1/serviceaccounts",
      "/api/v1/pods",
      "/apis/apps/v1/deployments",
      "/apis/apps/v1/replicasets",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      "/apis/rbac.authorization.k8s.io/v1/roles",
      "/apis/rbac.authorization.k8s.io/v1/rolebindings",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
      "/apis/certificates.k8s.io/v1/certificatesigningrequests",
  };
  std::set<std::string> names;
  for (const std::string& path : paths) {
    const Json list = server.get(path);
    const std::string plural = path.substr(path.rfind('/') + 1);
    for (const Json& item : list_at(list, {"items"})) names.insert(plural + "/" + namespace_of(item) + "/" + name_of(item));
  }
  return names;
}

std::string condition(const KubeServer& server, std::string_view path, std::string_view type) {
  const Json object = server.get(path);
  for (const Json& entry : list_at(object, {"status", "conditions"})) {
    if (str(entry, {"type"}) == type) return str(entry, {"status"});
  }
  return {};
}

bool condition_becomes(const KubeServer& server, std::string_view path, std::string_view type, std::string_view status,
                       Duration timeout) {
  return eventually([&] { return condition(server, path, type) == status; }, timeout);
}

std::vector<AuditEntry> writes_since(const KubeServer& server, std::uintmax_t position) {
  return server.audit_since(position, [](const AuditEntry& entry) {
    return entry.is_write() && entry.resource != "leases" && entry.resource != "events" && entry.subresource != "token" &&
           !entry.resource.ends_with("reviews");
  });
}

}  // namespace fleetadm::testkit
