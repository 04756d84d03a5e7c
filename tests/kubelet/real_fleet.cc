#include "tests/kubelet/real_fleet.h"

#include <future>
#include <utility>

#include "tests/kubelet/images.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kServiceAddress = "10.0.0.1";
constexpr const char* kServiceAddress6 = "fd00:10::1";
constexpr const char* kServices6 = "fd00:10::/112,10.0.0.0/24";
constexpr int kServicePort = 443;

// What the nodes need beside what a KubeServer has anyway.
constexpr const char* kNodeControllers =
    "--controllers=endpoints-controller,endpointslice-controller,disruption-controller,pod-garbage-collector-controller,"
    "node-lifecycle-controller,taint-eviction-controller,daemonset-controller";

Status do_all(int count, const std::function<Status(int)>& work) {
  std::vector<std::future<Status>> running;
  for (int i = 0; i < count; ++i) running.push_back(std::async(std::launch::async, work, i));
  Status done;
  for (auto& one : running)
    if (Status ended = one.get(); !ended && done) done = ended;
  return done;
}

}  // namespace

Result<std::unique_ptr<RealFleet>> RealFleet::start(int spokes) {
  auto fleet = std::unique_ptr<RealFleet>(new RealFleet());
  FLEETADM_CHECK(fleet->make_clusters(spokes));
  FLEETADM_TRY(const auto archives, fleet->save_images());
  FLEETADM_CHECK(fleet->start_servers());
  FLEETADM_CHECK(do_all(spokes + 1, [&](int i) { return fleet->start_node(i, archives); }));
  return fleet;
}

RealFleet::~RealFleet() {
  for (Cluster& cluster : clusters_) cluster.node.reset();  // before the servers, which kubelets would miss
}

Status RealFleet::make_clusters(int spokes) {
  for (int i = 0; i <= spokes; ++i) {
    const std::string subnet = "10.244." + std::to_string(i);
    Cluster cluster;
    cluster.name = i == 0 ? "hub" : "c" + std::to_string(i);
    cluster.address = subnet + ".1";
    cluster.pods = subnet + ".0/24";
    FLEETADM_TRY(cluster.network, NetworkNamespace::make());
    NodeOptions of_node;
    of_node.name = "node-" + cluster.name;
    of_node.network = cluster.network;
    of_node.address = cluster.address;
    of_node.pods = cluster.pods;
    of_node.service_address = kServiceAddress;
    if (i > 1) {  // the spokes but the first have IPv6 before IPv4
      cluster.dual_stack = true;
      const std::string subnet6 = "fd00:244:" + std::to_string(i) + ":";
      of_node.service_address = kServiceAddress6;
      of_node.address6 = subnet6 + ":1";
      of_node.pods6 = subnet6 + ":/64";
    }
    FLEETADM_TRY(cluster.node, ContainerNode::make(std::move(of_node)));
    clusters_.push_back(std::move(cluster));
    if (i > 0) FLEETADM_CHECK(lead_to_hub(i));
  }
  return {};
}

Status RealFleet::lead_to_hub(int i) const {
  const Cluster& hub = clusters_.front();
  const Cluster& spoke = clusters_.back();
  const std::string device = "to-" + spoke.name;
  const std::string wire = "10.245." + std::to_string(i);
  const std::string ends[] = {wire + ".1", wire + ".2"};
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"link", "add", device, "type", "veth", "peer", "name", "uplink", "netns", spoke.network->path()},
        Words{"address", "add", ends[0] + "/30", "dev", device}, Words{"link", "set", device, "up"}})
    FLEETADM_CHECK(ip(*hub.network, words));
  for (const Words& words : {Words{"address", "add", ends[1] + "/30", "dev", "uplink"}, Words{"link", "set", "uplink", "up"},
                             Words{"route", "add", hub.pods, "via", ends[0]}})
    FLEETADM_CHECK(ip(*spoke.network, words));
  return ip(*hub.network, {"route", "add", spoke.pods, "via", ends[1]});
}

/// /bin/ip with these words in a network.
Status RealFleet::ip(const NetworkNamespace& network, const std::vector<std::string>& words) const {
  const auto log = folder_.path() / "ip.log";
  sandbox::ChildSpec spec{
      .program = "/bin/ip", .args = words, .environment = {}, .folder = {}, .output_file = log.string(), .mounts = {}};
  network.move_in(spec);
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  if (const auto ended = child.wait(std::chrono::seconds(30)); ended && ended->code == 0) return {};
  return fail(Category::kUnavailable, "ip " + words.front() + ": " + read_file(log.string()));
}

Result<RealFleet::Archives> RealFleet::save_images() const {
  FLEETADM_TRY(std::string workload, save_workload_image(folder_));
  const std::string program = (folder_.path() / "fleetadm.tar").string();
  const Ran saved = run_fleetadm(folder_, {"image", "save", program}, {});
  if (saved.code != 0) return fail(Category::kInternal, "image save: " + saved.both());
  FLEETADM_TRY(std::string former, save_former_image(folder_));
  return Archives{std::move(workload), program, std::move(former)};
}

Status RealFleet::start_servers() {
  std::vector<KubeServerOptions> options;
  for (const Cluster& cluster : clusters_) {
    KubeServerOptions one;
    one.name = cluster.name;
    one.network = cluster.network;
    one.port = kServicePort;
    one.apiserver_flags = cluster.node->apiserver_flags();
    // Services have no proxy here: webhooks are called at their pods.
    one.apiserver_flags.emplace_back("--enable-aggregator-routing=true");
    one.controller_manager_flags = {kNodeControllers};
    if (cluster.name == "hub") {
      one.address = cluster.address;
      one.apiserver_flags.emplace_back("--bind-address=0.0.0.0");
    } else {
      one.address = cluster.dual_stack ? kServiceAddress6 : kServiceAddress;
      if (cluster.dual_stack) one.apiserver_flags.push_back(std::string("--service-cluster-ip-range=") + kServices6);
    }
    options.push_back(std::move(one));
  }
  FLEETADM_TRY(auto servers, KubeServer::start_all(std::move(options)));
  for (std::size_t i = 0; i < servers.size(); ++i) clusters_[i].server = std::move(servers[i]);
  return {};
}

Status RealFleet::start_node(int i, const Archives& archives) {
  ContainerNode& at = node(i);
  FLEETADM_CHECK(at.start_containerd());
  FLEETADM_CHECK(at.import_image(archives.workload));
  // By a file on the spokes, by the node's own fleetadm on the hub.
  const auto loaded = i == 0 ? at.run({Fleet::binary(), "image", "load", "--address", at.containerd_socket()})
                             : Result<std::string>(std::string());
  if (!loaded) return fail(loaded.error());
  if (i > 0) FLEETADM_CHECK(at.import_image(archives.program));
  FLEETADM_CHECK(at.import_image(archives.former));
  return at.start_kubelet(server(i));
}

Ran RealFleet::run(int i, const std::vector<std::string>& args, const RunOptions& options) const {
  const Cluster& cluster = clusters_.at(static_cast<std::size_t>(i));
  RunOptions with = options;
  std::string kubeconfig = cluster.server->kubeconfig_file();
  if (i != 0) kubeconfig += ":" + clusters_.front().server->kubeconfig_file();
  with.environment.emplace("KUBECONFIG", kubeconfig);
  with.environment.emplace("FLEETADM_KUBECTL", *KubeServer::programs() + "/kubectl");
  with.network = cluster.network.get();
  return run_fleetadm(folder_, args, with);
}

std::vector<Json> pods_of(const KubeServer& server, const std::string& ns, const std::string& app) {
  std::vector<Json> found;
  const Json list = server.get("/api/v1/namespaces/" + ns + "/pods?labelSelector=app%3D" + app);
  for (const Json& pod : list_at(list, {"items"}))
    if (!is_deleting(pod)) found.push_back(pod);
  return found;
}

bool pod_is_ready(const Json& pod) {
  for (const Json& entry : list_at(pod, {"status", "conditions"}))
    if (str(entry, {"type"}) == "Ready") return str(entry, {"status"}) == "True";
  return false;
}

}  // namespace fleetadm::testkit
