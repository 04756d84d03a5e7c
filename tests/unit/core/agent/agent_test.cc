// The whole agent against servers in memory: joining, crashing after any write, and joining again.
#include "core/agent/agent.h"

#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <set>

#include "core/agent/bootstrap_source.h"
#include "core/controller/worker_pool.h"
#include "core/registration/agent/hub_secret.h"
#include "fleet.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::testkit {
namespace {

namespace reg = registration::agent;

// What is left when an agent has joined, without what differs from run to run.
Json end_state(const MemoryFleet& fleet) {
  const auto secret = fleet.spoke->get(kube::resources::secrets(), "open-cluster-management-agent", "hub-kubeconfig-secret");
  Json keys = Json::array();
  for (const auto& [key, value] : strings_at(secret.value_or(Json()), {"data"})) keys.push_back(key);
  const auto chain = pki::parse_certificates(fleet.stored("tls.crt"));
  const reg::Identity stored{fleet.stored("cluster-name"), fleet.stored("agent-name")};
  return {{"secretKeys", keys},
          {"kubeconfig", fleet.stored("kubeconfig")},
          {"clusterName", stored.cluster},
          {"requests", fleet.requests(fleet.hub).size()},
          {"commonNameIsTheStoredOne", chain && chain->front().subject.common_name == reg::common_name(stored)},
          {"keyIsTheCertificates", pki::key_matches(fleet.stored("tls.crt"), fleet.stored("tls.key"))},
          {"spec", object_at(fleet.managed_cluster(fleet.hub).value_or(Json()), {"spec"})}};
}

int threads_of_process() { return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {})); }

TEST(Agent, JoinsAndReports) {
  MemoryFleet fleet;
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  process.stop();
  EXPECT_TRUE(process.outcome());

  const Json state = end_state(fleet);
  EXPECT_EQ(string_list_at(state, {"secretKeys"}),
            (std::vector<std::string>{"agent-name", "cluster-name", "kubeconfig", "tls.crt", "tls.key"}));
  EXPECT_EQ(num(state, {"requests"}), 1);
  EXPECT_TRUE(flag(state, {"commonNameIsTheStoredOne"}));
  EXPECT_TRUE(flag(state, {"keyIsTheCertificates"}));

  const Json request = fleet.requests(fleet.hub).front();
  EXPECT_EQ(label_of(request, api::kClusterNameLabel), "c1");
  EXPECT_TRUE(name_of(request).starts_with("c1-"));
  EXPECT_EQ(str(request, {"spec", "signerName"}), "kubernetes.io/kube-apiserver-client");
  EXPECT_EQ(string_list_at(request, {"spec", "usages"}),
            (std::vector<std::string>{"digital signature", "key encipherment", "client auth"}));
  EXPECT_EQ(find(request, {"spec", "expirationSeconds"}), nullptr);

  const Json managed = fleet.managed_cluster(fleet.hub).value();
  EXPECT_EQ(str(managed, {"status", "version", "kubernetes"}), "v1.35.4");
  EXPECT_EQ(str(managed, {"status", "allocatable", "cpu"}), "3500m");
  const Json event = fleet.hub->all(kube::resources::events()).front();
  EXPECT_EQ(str(event, {"reason"}), "Available");
  EXPECT_EQ(str(event, {"reportingController"}), "klusterlet-agent");
  EXPECT_EQ(str(event, {"regarding", "namespace"}), "c1");
  EXPECT_EQ(namespace_of(event), "c1");
}

// For k = 1…N: the process dies after its k-th write; a new one must reach what an undisturbed run reaches.
TEST(Agent, AHubWithoutAddOnsIsNotWaitedFor) {
  MemoryFleet fleet;
  fleet.hub->on_request([](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.group != "addon.open-cluster-management.io") return std::nullopt;
    return kube::Response{404, {}, "404 page not found\n"};
  });
  MemoryFleet::Process process(fleet, fleet.options());
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const auto lease = fleet.hub->get(kube::resources::leases(), "c1", "managed-cluster-lease");
  EXPECT_TRUE(lease && !str(*lease, {"spec", "renewTime"}).empty());
  process.stop();
}

TEST(Agent, IsSafeToKillAfterAnyWrite) {
  Json undisturbed;
  int writes = 0;
  {
    MemoryFleet fleet;
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
    process.stop();
    undisturbed = end_state(fleet);
    writes = process.writes();
  }
  ASSERT_GE(writes, 7);  // identity, cluster, request's key, request, credential, lease, status
  for (int k = 1; k <= writes; ++k) {
    SCOPED_TRACE("killed after write " + std::to_string(k));
    MemoryFleet fleet;
    std::string agent;
    {
      MemoryFleet::Process first(fleet, fleet.options(), k);
      ASSERT_TRUE(soon([&] { return first.dead() || fleet.joined(fleet.hub); }));
      first.stop();
      agent = fleet.stored("agent-name");
      ASSERT_FALSE(agent.empty());
    }
    MemoryFleet::Process second(fleet, fleet.options());
    const auto available = [&] {
      const auto managed = fleet.managed_cluster(fleet.hub);
      const auto lease = fleet.hub->get(kube::resources::leases(), "c1", api::kClusterLease);
      return managed && controller::condition_is(*managed, api::kConditionAvailable, "True") && lease &&
             !str(*lease, {"spec", "renewTime"}).empty() && !str(*managed, {"status", "capacity", "cpu"}).empty();
    };
    ASSERT_TRUE(soon(available));
    second.stop();
    EXPECT_EQ(fleet.stored("agent-name"), agent);
    EXPECT_EQ(end_state(fleet), undisturbed);
  }
}

TEST(Agent, ARestartChangesNothing) {
  MemoryFleet fleet;
  {
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  const std::string certificate = fleet.stored("tls.crt");
  fleet.hub->forget_calls();
  fleet.spoke->forget_calls();
  MemoryFleet::Process again(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > 0 && fleet.spoke->count("list", "nodes") > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  again.stop();
  EXPECT_EQ(fleet.stored("tls.crt"), certificate);
  EXPECT_EQ(fleet.spoke->write_count(), 0);
  EXPECT_EQ(fleet.hub->write_count(), fleet.hub->count("update", "leases"));
}

// A hub of upstream, which takes the rights of a cluster away as it is being deleted: last those on its works.
TEST(Agent, WhereItMayReadItsWorksAloneItBeginsWithThem) {
  MemoryFleet fleet;
  {
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  fleet.hub->on_request([&](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.plural == "manifestworks") return std::nullopt;
    return kube::Response{403, {}, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})"};
  });
  std::atomic<int> begun{0};
  std::mutex mutex;
  std::set<std::string> seen;
  const auto add_work = [&](controller::Manager& manager, const agent::Joined& joined) {
    ++begun;
    kube::InformerOptions own;
    own.ns = joined.identity.cluster;
    const auto works = manager.informer(joined.hub, api::manifest_works(), own);
    const auto queue = manager.add({.name = "work"}, [&](const std::string& key, const std::stop_token&) {
      const std::lock_guard lock(mutex);
      seen.insert(key);
      return Result<controller::Outcome>(controller::Outcome{});
    });
    controller::Manager::enqueue_on(*works, queue);
  };
  fleet.hub->put(api::manifest_works(), {{"metadata", {{"name", "web"}, {"namespace", "c1"}}}});
  const auto sees = [&](const std::string& key) {
    const std::lock_guard lock(mutex);
    return seen.contains(key);
  };
  MemoryFleet::Process process(fleet, fleet.options(), add_work);
  EXPECT_TRUE(soon([&] { return sees("c1/web"); }));
  EXPECT_EQ(begun, 1);
  fleet.hub->forget_calls();
  EXPECT_TRUE(soon([&] { return fleet.hub->count("get", "managedclusters") > 2; })) << "it may be accepted again";
  fleet.hub->on_request({});
  EXPECT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > 0; }));
  EXPECT_EQ(begun, 1) << "they go on";
  process.stop();
}

TEST(Agent, WhereItMayReadNothingItBeginsNothing) {
  MemoryFleet fleet;
  {
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  fleet.hub->on_request([](const ApiCall&) -> std::optional<kube::Response> {
    return kube::Response{403, {}, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})"};
  });
  std::atomic<int> begun{0};
  fleet.hub->forget_calls();
  MemoryFleet::Process process(fleet, fleet.options(), [&](controller::Manager&, const agent::Joined&) { ++begun; });
  EXPECT_TRUE(soon([&] { return fleet.hub->count("get", "managedclusters") > 5; }));
  EXPECT_EQ(fleet.hub->count("list", "manifestworks"), 1) << "a cluster may wait for days";
  EXPECT_EQ(begun, 0);
  process.stop();
  EXPECT_TRUE(fleet.hub->writes().empty());
}

TEST(Agent, WaitsForApprovalWithOneRequestAcrossRestarts) {
  MemoryFleet fleet;
  fleet.approves = false;
  std::string agent;
  for (int start = 0; start < 3; ++start) {
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return !fleet.requests(fleet.hub).empty(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    process.stop();
    EXPECT_EQ(fleet.requests(fleet.hub).size(), 1U);
    if (agent.empty()) agent = fleet.stored("agent-name");
    EXPECT_EQ(fleet.stored("agent-name"), agent);
  }
  fleet.approves = true;
  MemoryFleet::Process process(fleet, fleet.options());
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  EXPECT_EQ(fleet.requests(fleet.hub).size(), 1U);
}

// Nothing but the watch wakes it: an hour is longer than anybody waits here.
TEST(Agent, GoesOnAtOnceWhenItsRequestIsAnswered) {
  MemoryFleet fleet;
  fleet.approves = false;
  agent::AgentOptions options = fleet.options();
  options.timing.watch_request = std::chrono::hours(1);
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return !fleet.requests(fleet.hub).empty(); }));
  fleet.approves = true;
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }, std::chrono::seconds(4)));
}

TEST(Agent, ManyShareThreads) {
  constexpr std::size_t kAgents = 12;
  constexpr std::size_t kThreads = 4;
  std::vector<std::unique_ptr<MemoryFleet>> fleets;
  for (std::size_t i = 0; i < kAgents; ++i) fleets.push_back(std::make_unique<MemoryFleet>("c" + std::to_string(i)));
  const auto pool = std::make_shared<controller::WorkerPool>(kThreads);
  const int before = threads_of_process();
  std::vector<std::unique_ptr<agent::RunningAgent>> agents;
  for (const auto& fleet : fleets) {
    agent::AgentParts parts;
    parts.connect = [fleet = fleet.get(), wire = std::make_shared<Wire>()](const kube::RestConfig& config) {
      return fleet->connect(config, wire);
    };
    parts.pool = pool;
    auto agent = agent::start_agent(fleet->options(), fleet->spoke_config(), parts);
    ASSERT_TRUE(agent) << agent.error().message;
    agents.push_back(std::move(*agent));
  }
  for (const auto& fleet : fleets) EXPECT_TRUE(soon([&] { return fleet->joined(fleet->hub); }));
  EXPECT_LE(threads_of_process(), before + static_cast<int>(kThreads) + 2);  // the time of the pool, and the clients' I/O
}

TEST(Agent, ARandomClusterNameIsKept) {
  MemoryFleet fleet;
  agent::AgentOptions options = fleet.options();
  options.cluster_name.clear();
  fleet.approves = false;
  {
    MemoryFleet::Process process(fleet, options);
    ASSERT_TRUE(soon([&] { return !fleet.requests(fleet.hub).empty(); }));
  }
  const std::string name = fleet.stored("cluster-name");
  MemoryFleet::Process process(fleet, options);
  fleet.approves = true;
  ASSERT_TRUE(soon([&] { return !fleet.stored("tls.crt").empty(); }));
  EXPECT_EQ(fleet.stored("cluster-name"), name);
  EXPECT_EQ(fleet.hub->all(api::managed_clusters()).size(), 1U);
}

TEST(Agent, WaitsForItsBootstrapSecret) {
  MemoryFleet fleet;
  const auto secret = fleet.spoke->get(kube::resources::secrets(), "open-cluster-management-agent", "bootstrap-hub-kubeconfig");
  fleet.spoke->erase(kube::resources::secrets(), "open-cluster-management-agent", "bootstrap-hub-kubeconfig");
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return !fleet.stored("agent-name").empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(fleet.hub->calls().empty());
  fleet.spoke->put(kube::resources::secrets(), *secret);
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
}

TEST(Agent, AppliesWorksAsTheirOwnServiceAccount) {
  MemoryFleet fleet;
  agent::AgentOptions options = fleet.options();
  {
    MemoryFleet::Process process(fleet, options);
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  EXPECT_EQ(fleet.spoke_users(), std::set<std::string>{""});
  options.work_service_account = "worker";
  {
    MemoryFleet::Process process(fleet, options);
    ASSERT_TRUE(soon([&] { return fleet.spoke_users().size() == 2; }));
  }
  EXPECT_TRUE(fleet.spoke_users().contains("system:serviceaccount:open-cluster-management-agent:worker"));
  options.work_service_account = "no/name";
  MemoryFleet::Process process(fleet, options);
  process.stop();
  EXPECT_EQ(process.outcome().error().category, Category::kUsage);
}

TEST(BootstrapSource, TakesNoProgramsOrFilesFromASecret) {
  const auto spoke = FakeApi::make();
  const auto read = [&](const std::string& user, const std::string& cluster = "server: https://hub") {
    const std::string text = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {" + cluster +
                             "}}]\nusers: [{name: u, user: {" + user +
                             "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";
    spoke->put(kube::resources::secrets(),
               {{"metadata", {{"name", "b"}, {"namespace", "ns"}}}, {"data", {{"kubeconfig", base64_encode(text)}}}});
    return agent::BootstrapSource(spoke->client(), "ns", "b", "").read();
  };
  const auto good = read("token: t");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_TRUE(*good);
  for (const std::string member :
       {"exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}", "tokenFile: /var/run/token",
        "client-certificate: tls.crt", "client-key: tls.key", "auth-provider: {name: oidc}"}) {
    const auto refused = read("token: t, " + member);
    ASSERT_FALSE(refused) << member;
    EXPECT_NE(refused.error().message.find(member.substr(0, member.find(':'))), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("must not name programs or files"), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(read("token: t", "server: https://hub, certificate-authority: ca.crt"));
}

TEST(Agent, AStoredNameThatIsNoneIsWaitedOut) {
  MemoryFleet fleet;
  Json secret = {{"metadata", {{"name", "hub-kubeconfig-secret"}, {"namespace", "open-cluster-management-agent"}}},
                 {"data", {{"agent-name", base64_encode("a:b")}}}};
  fleet.spoke->put(kube::resources::secrets(), secret);
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.spoke->count("get", "secrets") > 2; }));
  EXPECT_TRUE(fleet.hub->calls().empty());
  secret["data"] = Json::object();
  fleet.spoke->put(kube::resources::secrets(), secret);
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
}

TEST(Agent, AnotherHubInTheBootstrapSecretIsJoined) {
  MemoryFleet fleet;
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string agent = fleet.stored("agent-name");
  fleet.bootstrap_with("other-hub");
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.other_hub); }));
  EXPECT_EQ(fleet.stored("agent-name"), agent);
  EXPECT_NE(fleet.stored("kubeconfig").find("https://other-hub"), std::string::npos);
  EXPECT_EQ(fleet.requests(fleet.other_hub).size(), 1U);
}

// The hub's CA is replaced while both are valid: nothing has to be approved again.
TEST(Agent, AnotherCaOfTheSameHubCostsNoNewCertificate) {
  MemoryFleet fleet;
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string certificate = fleet.stored("tls.crt");
  const std::string before = fleet.stored("kubeconfig");
  fleet.approves = false;
  const int renewals = fleet.hub->count("update", "leases");
  const auto another = pki::make_ca("another", std::chrono::hours(1)).value();
  fleet.bootstrap_with("hub", "bootstrap-hub-kubeconfig", another.certificate);
  ASSERT_TRUE(soon([&] { return fleet.stored("kubeconfig") != before; }));
  const auto endpoint = reg::endpoint_of(fleet.stored("kubeconfig"));
  ASSERT_TRUE(endpoint);
  EXPECT_NE(endpoint->ca_pem.find(another.certificate), std::string::npos);
  EXPECT_EQ(fleet.stored("tls.crt"), certificate);
  EXPECT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > renewals; })) << "a session with the new CA has begun";
  EXPECT_EQ(fleet.requests(fleet.hub).size(), 1U);
}

// A hub that does not know the certificate is not the same hub, whatever its address.
TEST(Agent, AnotherCaOfAHubThatDoesNotKnowTheCertificateIsJoined) {
  MemoryFleet fleet;
  {
    MemoryFleet::Process process(fleet, fleet.options());
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  const std::string certificate = fleet.stored("tls.crt");
  fleet.reject(certificate);
  fleet.bootstrap_with("hub", "bootstrap-hub-kubeconfig", pki::make_ca("another", std::chrono::hours(1)).value().certificate);
  MemoryFleet::Process process(fleet, fleet.options());
  EXPECT_TRUE(soon([&] { return fleet.stored("tls.crt") != certificate; }));
  EXPECT_EQ(fleet.requests(fleet.hub).size(), 2U);
}

TEST(Agent, JoinsAgainWhenTheHubRefusesItsCertificate) {
  MemoryFleet fleet;
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string agent = fleet.stored("agent-name");
  const std::string certificate = fleet.stored("tls.crt");
  fleet.reject(certificate);
  fleet.hub->put(api::managed_clusters(), [&] {  // the heartbeat's period changed: it beats at once
    Json managed = fleet.managed_cluster(fleet.hub).value();
    managed["spec"]["leaseDurationSeconds"] = 1;
    return managed;
  }());
  ASSERT_TRUE(soon([&] { return fleet.stored("tls.crt") != certificate; }));
  EXPECT_EQ(fleet.stored("agent-name"), agent);
  fleet.hub->forget_calls();
  EXPECT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > 0; }));
}

TEST(Agent, RenewsInPlace) {
  MemoryFleet fleet;
  fleet.certificate_seconds = 1;  // with five minutes behind it, such a certificate is due at once
  MemoryFleet::Process process(fleet, fleet.options());
  ASSERT_TRUE(soon([&] { return fleet.managed_cluster(fleet.hub).has_value(); }));
  fleet.certificate_seconds = 36000;
  ASSERT_TRUE(soon([&] {
    const auto chain = pki::parse_certificates(fleet.stored("tls.crt"));
    return chain && chain->front().not_after > Clock::system()->now() + std::chrono::hours(1);
  }));
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
}

TEST(Agent, RefusesOptionsThatMakeNoSense) {
  MemoryFleet fleet;
  const auto refused = [&](const std::function<void(agent::AgentOptions&)>& spoil) {
    agent::AgentOptions options = fleet.options();
    spoil(options);
    MemoryFleet::Process process(fleet, options);
    process.stop();
    return !process.outcome() && process.outcome().error().category == Category::kUsage;
  };
  EXPECT_TRUE(refused([](agent::AgentOptions& o) { o.cluster_name = "Not.A.Label"; }));
  EXPECT_TRUE(refused([](agent::AgentOptions& o) { o.agent_id = "a:b"; }));
  EXPECT_TRUE(refused([](agent::AgentOptions& o) { o.client_cert_expiration_seconds = 600; }));
  EXPECT_TRUE(refused([](agent::AgentOptions& o) { o.healthcheck_period = Duration::zero(); }));
  EXPECT_TRUE(refused([](agent::AgentOptions& o) { o.external_server_urls = {"http://x"}; }));
}

}  // namespace
}  // namespace fleetadm::testkit
