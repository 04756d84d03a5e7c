#include "core/sandbox/node/node.h"

#include <arpa/inet.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include "core/controller/controller.h"
#include "core/sandbox/node/pod.h"
#include "core/sandbox/node/reaper.h"
#include "core/sandbox/node/state_folder.h"
#include "kubeclient/base/log.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::sandbox {
namespace fs = std::filesystem;
using controller::Manager;
using controller::Queue;

namespace {

constexpr std::int64_t kLeaseSeconds = 40;
constexpr auto kLeaseRenewal = std::chrono::seconds(10);
constexpr auto kStatusRenewal = std::chrono::minutes(5);
constexpr auto kUnfitRetry = std::chrono::seconds(30);  // also where a change of the node was missed
constexpr auto kStopGrace = std::chrono::seconds(10);
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

int free_loopback_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

class Node {
 public:
  Node(kube::Client client, NodeOptions options, PodHost host)
      : client_(std::move(client)),
        options_(std::move(options)),
        host_(std::move(host)),
        manager_(Manager::Options{.threads = kNodeThreads, .pool = options_.pool}),
        reaper_(options_.reaper ? options_.reaper : std::make_shared<Reaper>()) {
    host_.lookup.secret = [this](std::string_view ns, std::string_view name) {
      return client_.find(kube::resources::secrets(), ns, name);
    };
    host_.lookup.config_map = [this](std::string_view ns, std::string_view name) {
      return client_.find(kube::resources::config_maps(), ns, name);
    };
    host_.lookup.token = [this](const TokenAsk& ask) { return request_token(ask); };
    host_.free_port = free_loopback_port;
    host_.watch = [this](int pidfd, const std::string& key) {
      reaper_->watch(pidfd, [queue = pod_queue_, key] { queue->add(key); });
    };
  }

  ~Node() {
    manager_.stop();
    stop_pods();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Until `stop`, on this thread.
  Status run(const std::stop_token& stop) {
    FLEETADM_CHECK(prepare());
    const Status ran = manager_.run(stop);
    stop_pods();
    return ran;
  }
  /// On threads of the pool alone.
  Status start() {
    FLEETADM_CHECK(prepare());
    return manager_.start();
  }
  void terminate() {
    manager_.stop();
    const std::lock_guard lock(mutex_);
    for (const auto& [key, pod] : running_) pod->terminate();
  }

 private:
  using Uses = bool (*)(const Pod& pod, const std::string& name);

  Status prepare() {
    FLEETADM_CHECK(register_node());
    pods_ = manager_.informer(client_, kube::resources::pods());
    pod_queue_ = manager_.add({.name = "pods", .workers = 4},
                              [this](const std::string& key, const std::stop_token& /*stop*/) { return reconcile(key); });
    Manager::enqueue_on(*pods_, pod_queue_);
    watch_sources(kube::resources::secrets(), [](const Pod& pod, const std::string& name) { return pod.uses_secret(name); });
    watch_sources(kube::resources::config_maps(),
                  [](const Pod& pod, const std::string& name) { return pod.uses_config_map(name); });
    watch_node();
    const auto heartbeat = manager_.add({.name = "lease", .workers = 1},
                                        [this](const std::string& /*key*/, const std::stop_token& /*stop*/) { return renew(); });
    heartbeat->add("lease");
    return {};
  }

  // Only that an object changed matters here; its content is read when it is written to the pod's folder.
  void watch_sources(const kube::Resource& resource, Uses uses) {
    kube::InformerOptions options;
    options.project = [](Json& object) {
      object.erase("data");
      object.erase("binaryData");
    };
    const auto informer = manager_.informer(client_, resource, options);
    Manager::enqueue_on(*informer, pod_queue_, [this, uses](const kube::CachedObject& object) {
      const kube::ObjectName changed = kube::split_key(object.key());
      std::vector<std::string> keys;
      const std::lock_guard lock(mutex_);
      for (const auto& [key, pod] : running_) {
        if (kube::split_key(key).ns == changed.ns && uses(*pod, changed.name)) keys.push_back(key);
      }
      return keys;
    });
  }

  // Pods that the node did not fit may fit it once somebody has changed it (taints, labels, cordon).
  void watch_node() {
    kube::InformerOptions options;
    options.field_selector = "metadata.name=" + options_.name;
    options.project = [](Json& object) { object.erase("status"); };
    const auto informer = manager_.informer(client_, kube::resources::nodes(), options);
    Manager::enqueue_on(*informer, pod_queue_, [this](const kube::CachedObject& /*node*/) {
      const std::lock_guard lock(mutex_);
      return std::vector<std::string>(unfit_.begin(), unfit_.end());
    });
  }

  Status register_node() {
    const auto version = kube::server_version(client_);
    if (!version) return tl::unexpected(version.error().wrap("cannot reach the API server of the node"));
    const Json wanted = node_object(options_, version->git_version, Clock::system()->now());
    FLEETADM_TRY(node_, client_.create_or_get(kube::resources::nodes(), "", wanted));
    // A new node is tainted until a node-lifecycle controller has seen it ready; this cluster has none.
    Json metadata = {{"labels", wanted["metadata"]["labels"]}};
    FLEETADM_TRY(node_, client_.patch(kube::resources::nodes(), "", options_.name, kube::PatchType::kMerge,
                                      {{"metadata", std::move(metadata)}, {"spec", {{"taints", nullptr}}}}));
    return write_node_status(wanted["status"]);
  }

  Status write_node_status(const Json& status) {
    status_written_ = std::chrono::steady_clock::now();
    FLEETADM_CHECK(client_.patch(kube::resources::nodes(), "", options_.name, kube::PatchType::kMerge, {{"status", status}},
                                 {.subresource = "status"}));
    return {};
  }

  Result<controller::Outcome> renew() {
    const Instant now = Clock::system()->now();
    Json lease = {
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata",
         {{"name", options_.name},
          {"namespace", kLeaseNamespace},
          {"ownerReferences",
           Json::array({{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.name}, {"uid", uid_of(node_)}}})}}},
        {"spec",
         {{"holderIdentity", options_.name}, {"leaseDurationSeconds", kLeaseSeconds}, {"renewTime", format_micro_time(now)}}}};
    auto renewed = client_.patch(kube::resources::leases(), kLeaseNamespace, options_.name, kube::PatchType::kMerge, lease);
    if (!renewed && renewed.error().category == Category::kNotFound) {
      renewed = client_.create(kube::resources::leases(), kLeaseNamespace, lease);
    }
    if (!renewed) return tl::unexpected(renewed.error());
    if (std::chrono::steady_clock::now() - status_written_ > kStatusRenewal) {
      Json status = node_object(options_, str(node_, {"status", "nodeInfo", "kubeletVersion"}), now)["status"];
      for (Json& condition : status["conditions"])
        condition["lastTransitionTime"] = str(node_, {"metadata", "creationTimestamp"});
      FLEETADM_CHECK(write_node_status(status));
    }
    return controller::Outcome{.requeue_after = kLeaseRenewal};
  }

  Result<std::string> request_token(const TokenAsk& ask) {
    Json spec = {{"expirationSeconds", ask.seconds},
                 {"boundObjectRef", {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", ask.pod_name}, {"uid", ask.pod_uid}}}};
    if (!ask.audience.empty()) spec["audiences"] = Json::array({ask.audience});
    const Json body = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", std::move(spec)}};
    FLEETADM_TRY(const auto answer,
                 client_.post(kube::resources::service_accounts().path(ask.ns, ask.service_account, "token"), body, false));
    std::string token = str(answer, {"status", "token"});
    if (token.empty())
      return fail(Category::kInternal, "the API server gave no token for service account " + ask.service_account);
    return token;
  }

  Result<controller::Outcome> reconcile(const std::string& key) {
    const kube::CachedPtr cached = pods_->get(key);
    const Json pod = cached ? cached->decode() : Json();
    std::shared_ptr<Pod> running = running_pod(key);
    if (!cached || (running && running->uid() != uid_of(pod))) {
      forget(key);  // gone from the API: nothing of it may run on
      running.reset();
      if (!cached) return controller::Outcome{};
    }
    const std::string node = str(pod, {"spec", "nodeName"});
    if (node.empty()) return bind(key, pod);
    set_unfit(key, false);
    if (node != options_.name) return controller::Outcome{};
    const std::string phase = str(pod, {"status", "phase"});
    const bool over = phase == "Succeeded" || phase == "Failed";
    if (over && !is_deleting(pod)) {
      forget(key);
      return controller::Outcome{};
    }
    if (!running) running = adopt(key, pod);
    const Instant now = Clock::system()->now();
    const Pod::Step step = is_deleting(pod) ? running->shut_down(pod, now) : running->sync(pod, now);
    if (!over) FLEETADM_CHECK(write_status(key, pod, step.status));
    if (is_deleting(pod) && step.over) return finish_deletion(pod);
    if (!step.again) return controller::Outcome{};
    return controller::Outcome{.requeue_after =
                                   std::max(Duration(std::chrono::milliseconds(5)), *step.again - Clock::system()->now())};
  }

  void set_unfit(const std::string& key, bool unfit) {
    const std::lock_guard lock(mutex_);
    if (unfit) {
      unfit_.insert(key);
    } else {
      unfit_.erase(key);
    }
  }

  Result<controller::Outcome> bind(const std::string& key, const Json& pod) {
    set_unfit(key, true);  // before the node is looked at: no change of it is missed
    FLEETADM_TRY(const auto node, client_.get(kube::resources::nodes(), "", options_.name));
    if (!wants_node(pod, node)) return controller::Outcome{.requeue_after = kUnfitRetry};
    const Json binding = {{"apiVersion", "v1"},
                          {"kind", "Binding"},
                          {"metadata", {{"name", name_of(pod)}, {"namespace", namespace_of(pod)}, {"uid", uid_of(pod)}}},
                          {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.name}}}};
    const auto bound = client_.post(kube::resources::pods().path(namespace_of(pod), name_of(pod), "binding"), binding, false);
    const bool settled = bound || bound.error().category == Category::kConflict || bound.error().category == Category::kNotFound;
    if (!settled) return tl::unexpected(bound.error());
    return controller::Outcome{};
  }

  Status write_status(const std::string& key, const Json& pod, const Json& status) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto sent = sent_.find(key); sent != sent_.end() && sent->second == status) return {};
    }
    const auto written = client_.patch(kube::resources::pods(), namespace_of(pod), name_of(pod), kube::PatchType::kMerge,
                                       {{"metadata", {{"uid", uid_of(pod)}}}, {"status", status}}, {.subresource = "status"});
    if (!written && written.error().category != Category::kNotFound && written.error().category != Category::kConflict) {
      return tl::unexpected(written.error());
    }
    const std::lock_guard lock(mutex_);
    sent_[key] = status;
    return {};
  }

  // Nothing of the pod runs any more: the API server may let go of it. With finalizers it stays, as it is.
  Result<controller::Outcome> finish_deletion(const Json& pod) {
    if (num(pod, {"metadata", "deletionGracePeriodSeconds"}, 1) > 0 || list_at(pod, {"metadata", "finalizers"}).empty()) {
      const auto removed = client_.remove(kube::resources::pods(), namespace_of(pod), name_of(pod),
                                          {.uid = uid_of(pod), .grace_period_seconds = 0});
      if (!removed && removed.error().category != Category::kNotFound && removed.error().category != Category::kConflict) {
        return tl::unexpected(removed.error());
      }
    }
    return controller::Outcome{};
  }

  std::shared_ptr<Pod> running_pod(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(key);
    return found == running_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Pod> adopt(const std::string& key, const Json& pod) {
    auto made = std::make_shared<Pod>(host_, pod);
    const std::lock_guard lock(mutex_);
    running_[key] = made;
    sent_.erase(key);
    return made;
  }

  void forget(const std::string& key) {
    std::shared_ptr<Pod> last;  // ends its processes outside the lock
    const std::lock_guard lock(mutex_);
    if (auto found = running_.extract(key)) last = std::move(found.mapped());
    sent_.erase(key);
    unfit_.erase(key);
  }

  void stop_pods() {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, pod] : running_) pod->terminate();
    const auto deadline = std::chrono::steady_clock::now() + kStopGrace;
    for (const auto& [key, pod] : running_) pod->wait_ended(deadline);
    running_.clear();
  }

  kube::Client client_;
  NodeOptions options_;
  PodHost host_;
  Json node_;  // as registered; not written after that
  std::chrono::steady_clock::time_point status_written_{};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Pod>> running_;
  std::set<std::string> unfit_;       // pods that nothing has bound so far
  std::map<std::string, Json> sent_;  // the status that each pod has, as written by us
  std::shared_ptr<kube::Informer> pods_;
  std::shared_ptr<Queue> pod_queue_;
  Manager manager_;
  std::shared_ptr<Reaper> reaper_;
};

/// A node with what it needs.
struct ServedNode {
  std::unique_ptr<StateFolder> state;
  std::unique_ptr<Node> node;  // last: it ends first
};

Result<ServedNode> make_node(const kube::RestConfig& config, const kube::Client& client, const NodeOptions& options) {
  FLEETADM_TRY(const auto api, host_and_port(config.server));
  ServedNode served;
  FLEETADM_TRY(served.state, StateFolder::make());
  PodHost host;
  host.node = {.name = options.name, .ip = "127.0.0.1", .api_host = api.host, .api_port = api.port};
  host.executable = options.executable;
  host.state_folder = served.state->path() / "pods";
  host.log_folder = options.log_folder.empty() ? served.state->path() / "logs" : fs::path(options.log_folder);
  host.first_back_off = options.first_back_off;
  host.most_back_off = options.most_back_off;
  host.containers = options.containers;
  host.host = options.host;
  std::error_code error;
  fs::create_directories(host.log_folder, error);
  if (error) return fail(Category::kUsage, "cannot make the log folder " + host.log_folder.string() + ": " + error.message());
  host.log_folder = fs::absolute(host.log_folder, error);
  served.node = std::make_unique<Node>(client, options, std::move(host));
  return served;
}

class NodeOnPool final : public RunningNode {
 public:
  explicit NodeOnPool(ServedNode served) : served_(std::move(served)) {}
  void terminate() override { served_.node->terminate(); }

 private:
  ServedNode served_;
};

}  // namespace

Status run_node(const kube::RestConfig& config, const kube::Client& client, const NodeOptions& options, std::stop_token stop) {
  FLEETADM_TRY(const ServedNode served, make_node(config, client, options));
  const Status ran = served.node->run(stop);
  if (stop.stop_requested()) return {};  // also where that came while it was still registering
  return ran;
}

Result<std::unique_ptr<RunningNode>> start_node(const kube::RestConfig& config, const kube::Client& client,
                                                const NodeOptions& options) {
  FLEETADM_TRY(ServedNode served, make_node(config, client, options));
  FLEETADM_CHECK(served.node->start());
  return std::make_unique<NodeOnPool>(std::move(served));
}

}  // namespace fleetadm::sandbox
