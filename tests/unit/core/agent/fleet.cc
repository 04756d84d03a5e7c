#include "fleet.h"

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/agent/hub_secret.h"
#include "kubeclient/base/encoding.h"
#include "signer.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::milliseconds;

constexpr const char* kSpokeServer = "https://spoke";

// One for all fleets: making keys is most of what a fleet costs, and end states can be compared.
const pki::KeyPair& shared_ca() {
  static const pki::KeyPair made = pki::make_ca("hub", std::chrono::hours(48)).value();
  return made;
}

std::string server_of(const std::string& hub) { return "https://" + hub; }

}  // namespace

// Between one agent process and one server.
class MemoryFleet::Line final : public kube::Transport {
 public:
  Line(MemoryFleet& fleet, std::shared_ptr<FakeApi> api, std::shared_ptr<Wire> wire,
       std::shared_ptr<kube::CredentialSource> credentials)
      : fleet_(fleet), api_(std::move(api)), wire_(std::move(wire)), credentials_(std::move(credentials)) {}

  Result<kube::Response> call(const kube::Request& request) override {
    if (wire_->dead) return fail(Category::kUnavailable, "the process is dead");
    if (rejected()) return kube::Response{401, {}, R"({"kind":"Status","status":"Failure","reason":"Unauthorized","code":401})"};
    auto answer = api_->call(request);
    const bool write = request.method != kube::Method::kGet && request.method != kube::Method::kHead;
    if (write && answer && answer->status < 300 && ++wire_->writes == wire_->dies_after) wire_->dead = true;
    return answer;
  }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    return api_->stream(request, std::move(sink));
  }

 private:
  bool rejected() const {
    if (!credentials_) return false;
    const auto current = credentials_->current();
    const std::lock_guard lock(fleet_.mutex_);
    return current && fleet_.rejected_.contains(current->client_certificate);
  }

  MemoryFleet& fleet_;
  std::shared_ptr<FakeApi> api_;
  std::shared_ptr<Wire> wire_;
  std::shared_ptr<kube::CredentialSource> credentials_;
};

MemoryFleet::MemoryFleet(std::string cluster) : cluster_(std::move(cluster)), ca_(shared_ca()) {
  const kube::Response ok{200, {}, "ok"};
  spoke->route("/livez", ok);
  spoke->route("/version", {200, {}, R"({"gitVersion":"v1.35.4","major":"1","minor":"35"})"});
  spoke->put(kube::resources::nodes(),
             {{"metadata", {{"name", "n1"}}}, {"status", {{"capacity", {{"cpu", "4"}}}, {"allocatable", {{"cpu", "3500m"}}}}}});
  bootstrap_with("hub");
  controllers_ = std::jthread([this](std::stop_token stop) {
    while (!stop.stop_requested()) {
      serve(hub);
      serve(other_hub);
      std::this_thread::sleep_for(milliseconds(2));
    }
  });
}

MemoryFleet::~MemoryFleet() {
  controllers_.request_stop();
  controllers_.join();
}

void MemoryFleet::bootstrap_with(const std::string& name, const std::string& secret, const std::string& more_cas) {
  registration::agent::Endpoint endpoint{name, server_of(name), ca_.certificate + more_cas, "", ""};
  std::string kubeconfig = registration::agent::hub_kubeconfig(endpoint);
  const std::string files = "    client-certificate: tls.crt\n    client-key: tls.key\n";
  kubeconfig.replace(kubeconfig.find(files), files.size(), "    token: bootstrap\n");
  spoke->put(kube::resources::secrets(), {{"metadata", {{"name", secret}, {"namespace", "open-cluster-management-agent"}}},
                                          {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}});
}

std::set<std::string> MemoryFleet::spoke_users() const {
  const std::lock_guard lock(mutex_);
  return spoke_users_;
}

void MemoryFleet::reject(const std::string& certificate) {
  const std::lock_guard lock(mutex_);
  rejected_.insert(certificate);
}

void MemoryFleet::serve(const std::shared_ptr<FakeApi>& at) {
  for (Json request : at->all(kube::resources::certificate_signing_requests())) {
    if (!approves || !str(request, {"status", "certificate"}).empty() || !list_at(request, {"status", "conditions"}).empty())
      continue;
    const std::string pem = base64_decode(str(request, {"spec", "request"})).value();
    request["status"] = {{"conditions", Json::array({{{"type", "Approved"}, {"status", "True"}}})},
                         {"certificate", base64_encode(sign_request(ca_, pem, std::chrono::seconds(certificate_seconds)))}};
    at->put(kube::resources::certificate_signing_requests(), request);
  }
  for (Json managed : at->all(api::managed_clusters())) {
    if (!accepts || controller::find_condition(managed, api::kConditionHubAccepted) != nullptr) continue;
    at->put(kube::resources::leases(), {{"metadata", {{"name", "managed-cluster-lease"}, {"namespace", name_of(managed)}}},
                                        {"spec", {{"holderIdentity", "managed-cluster-lease"}}}});
    managed["spec"]["hubAcceptsClient"] = true;
    managed["status"]["conditions"] = Json::array();
    controller::set_condition(managed["status"]["conditions"], api::kConditionHubAccepted, "True", "HubClusterAdminAccepted",
                              "Accepted by hub cluster admin", Clock::system()->now());
    at->put(api::managed_clusters(), managed);
  }
}

kube::Client MemoryFleet::connect(const kube::RestConfig& config, const std::shared_ptr<Wire>& wire) {
  const std::shared_ptr<FakeApi> api = config.server == kSpokeServer       ? spoke
                                       : config.server == server_of("hub") ? hub
                                                                           : other_hub;
  if (api == spoke) {
    const std::lock_guard lock(mutex_);
    spoke_users_.insert(config.impersonate_user);
  }
  return {std::make_shared<Line>(*this, api, wire, config.credentials), std::make_shared<kube::WriteGate>()};
}

kube::RestConfig MemoryFleet::spoke_config() const {
  kube::RestConfig config;
  config.server = kSpokeServer;
  return config;
}

agent::AgentOptions MemoryFleet::options() const {
  agent::AgentOptions options;
  options.cluster_name = cluster_;
  options.instance = "test";
  options.timing.retry_first = milliseconds(10);
  options.timing.retry_longest = milliseconds(50);
  options.timing.rejoin_longest = milliseconds(50);
  options.timing.watch_request = milliseconds(200);
  options.timing.accept_first = milliseconds(5);
  options.timing.accept_longest = milliseconds(20);
  options.timing.check = milliseconds(20);
  options.timing.rejected_for = milliseconds(100);
  options.timing.certificate_check = milliseconds(100);
  options.healthcheck_period = milliseconds(200);
  return options;
}

std::optional<Json> MemoryFleet::managed_cluster(const std::shared_ptr<FakeApi>& at) const {
  return at->get(api::managed_clusters(), {}, cluster_);
}

std::vector<Json> MemoryFleet::requests(const std::shared_ptr<FakeApi>& at) const {
  return at->all(kube::resources::certificate_signing_requests());
}

std::string MemoryFleet::stored(const std::string& key) const {
  const auto secret = spoke->get(kube::resources::secrets(), "open-cluster-management-agent", "hub-kubeconfig-secret");
  if (!secret) return {};
  return base64_decode(str(*secret, {"data", key})).value_or("");
}

bool MemoryFleet::joined(const std::shared_ptr<FakeApi>& at) const {
  const auto managed = managed_cluster(at);
  const auto lease = at->get(kube::resources::leases(), cluster_, api::kClusterLease);
  return managed && controller::condition_is(*managed, api::kConditionJoined, "True") &&
         controller::condition_is(*managed, api::kConditionAvailable, "True") &&
         !str(*managed, {"status", "capacity", "cpu"}).empty() && !list_at(*managed, {"status", "clusterClaims"}).empty() &&
         lease && !str(*lease, {"spec", "renewTime"}).empty() && at->all(kube::resources::events()).size() == 1;
}

MemoryFleet::Process::Process(MemoryFleet& fleet, agent::AgentOptions options, int dies_after) {
  wire_->dies_after = dies_after;
  start(fleet, std::move(options), {});
}

MemoryFleet::Process::Process(MemoryFleet& fleet, agent::AgentOptions options, AddWork add_work) {
  start(fleet, std::move(options), std::move(add_work));
}

void MemoryFleet::Process::start(MemoryFleet& fleet, agent::AgentOptions options, AddWork add_work) {
  const kube::RestConfig spoke = fleet.spoke_config();
  agent::AgentParts parts;
  parts.add_work = std::move(add_work);
  parts.connect = [&fleet, wire = wire_](const kube::RestConfig& config) { return fleet.connect(config, wire); };
  thread_ = std::jthread([this, options = std::move(options), spoke, parts](std::stop_token stop) {
    outcome_ = agent::run_agent(options, spoke, parts, stop);
  });
}

void MemoryFleet::Process::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

bool soon(const std::function<bool()>& done, Duration timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(milliseconds(3));
  }
  return done();
}

}  // namespace fleetadm::testkit
