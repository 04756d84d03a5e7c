// What callers of the gateway notice of servers, gateways and agents that restart, are silent, or are killed; and that nothing is
// left of many requests.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/proxy/client/gateway_access.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/watch/blocking_watch.h"
#include "tests/support/fleet_test.h"
#include "tests/support/watches.h"

namespace fleetadm::testkit {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::string_view kFaultMaps = "/api/v1/namespaces/default/configmaps";

using SocketNumbers = std::set<std::string>;

struct TcpSocket {
  bool listens = false;
  bool connected = false;
  int local = 0;  // ports
  int remote = 0;
  std::string name;  // as a descriptor's link says it
};

std::vector<TcpSocket> tcp_sockets() {
  const auto port = [](const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1), nullptr, 16); };
  std::vector<TcpSocket> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(read_file(table));
    std::string line;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
      if (!inode.empty()) found.push_back({state == "0A", state == "01", port(local), port(remote), "socket:[" + inode + "]"});
    }
  }
  return found;
}

/// This machine's TCP sockets of one kind: those that listen on a port, or are connected to it.
SocketNumbers sockets_of_port(int port, bool listening) {
  SocketNumbers found;
  for (const TcpSocket& one : tcp_sockets()) {
    if (listening ? one.listens && one.local == port : one.connected && one.remote == port) found.insert(one.name);
  }
  return found;
}

/// A process of a pod of the fleet, found by what it runs.
struct PodProcess {
  int pid = 0;
  /// Which of these sockets it has.
  SocketNumbers among(const SocketNumbers& sockets) const {
    SocketNumbers found;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(proc() + "/fd", gone)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), gone);
      if (sockets.contains(target)) found.insert(target);
    }
    return found;
  }
  std::set<int> listens_on() const {
    std::set<int> ports;
    for (const TcpSocket& one : tcp_sockets()) {
      if (one.listens && !among({one.name}).empty()) ports.insert(one.local);
    }
    return ports;
  }
  std::string proc() const { return "/proc/" + std::to_string(pid); }
  std::size_t descriptors() const {
    std::error_code gone;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(proc() + "/fd", gone), {}));
  }
  /// Silent when it returns: a busy machine's threads stop one after the other, and the last one may still answer.
  void freeze() const {
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    const auto stopped = [&] {
      std::error_code gone;
      const std::filesystem::directory_iterator threads(proc() + "/task", gone);
      return threads != end(threads) && std::all_of(begin(threads), end(threads), [](const auto& thread) {
               const std::string stat = read_file((thread.path() / "stat").string());
               return stat.find(") T ") != std::string::npos;
             });
    };
    EXPECT_TRUE(eventually(stopped, std::chrono::seconds(30), std::chrono::milliseconds(5)));
  }
  std::size_t memory_kib() const {
    const std::string status = read_file(proc() + "/status");
    const std::size_t at = status.find("VmRSS:");
    return at == std::string::npos ? 0 : std::strtoul(status.c_str() + at + 6, nullptr, 10);
  }
};

class ProxyFaults : public FleetTest {
 protected:
  static void SetUpTestSuite() { start_fleet({}); }
  static void start_fleet(const KubeServerOptions& of_hub) {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true, of_hub));
    const Ran made = run({"init", "--context", "hub", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    for (const char* cluster : {"c1", "c2"}) {
      std::vector<std::string> args = join_args(made.json());
      std::replace(args.begin(), args.end(), std::string("c1"), std::string(cluster));
      ASSERT_EQ(run(args).code, 0);
    }
    const Ran accepted = run({"accept", "c1", "c2", "--context", "hub", "--yes", "--wait"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    allow_carol(hub(),
                {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    for (int i = 1; i <= 2; ++i)
      allow_carol(fleet()->spoke(i), {{"apiGroups", {"", "apps"}}, {"resources", {"*"}}, {"verbs", {"*"}}});
    ASSERT_TRUE(answers_again(std::chrono::seconds(90), "c2"));
    ASSERT_TRUE(answers_again());
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& member() { return fleet()->spoke(1); }
  /// A cluster through the gateway, on connections of its own.
  static Result<kube::Client> through_gateway(const std::string& cluster = "c1") {
    kube::ConfigOverrides overrides;
    overrides.kubeconfig = hub().kubeconfig_file_for("carol");
    FLEETADM_TRY(const kube::RestConfig config, kube::load_rest_config(overrides));
    FLEETADM_TRY(const auto gateway, proxy::find_gateway(kube::Client::connect(config)));
    FLEETADM_TRY(const kube::RestConfig to, proxy::member_config(config, gateway, cluster));
    return kube::Client::connect(to);
  }
  /// One GET, not repeated: status, and what was said.
  static kube::Response ask_once(const kube::Client& client) {
    kube::Request request;
    request.path = kFaultMaps;
    request.timeout = std::chrono::seconds(30);
    auto answer = client.transport()->call(request);
    return answer ? *answer : kube::Response{0, {}, answer.error().message};
  }
  static testing::AssertionResult becomes(const kube::Client& client, int status, Duration patience) {
    kube::Response last;
    if (eventually([&] { return (last = ask_once(client)).status == status; }, patience)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "still " << last.status << ": " << last.body;
  }
  static testing::AssertionResult answers_again(Duration patience = std::chrono::seconds(90), const std::string& cluster = "c1") {
    std::string last;
    const auto tried = [&] {
      const auto client = through_gateway(cluster);
      if (!client) {
        last = client.error().message;
        return false;
      }
      const kube::Response answer = ask_once(*client);
      last = std::to_string(answer.status) + " " + answer.body;
      return answer.status == 200;
    };
    if (eventually(tried, patience)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << last;
  }
  /// Those that the node of a cluster has started.
  static std::vector<PodProcess> processes_of(const std::string& program, const std::string& verb, const std::string& cluster) {
    std::vector<PodProcess> found;
    const std::string words = std::string("\0", 1) + program + std::string("\0", 1) + verb + std::string("\0", 1);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (read_file(entry.path() / "cmdline").find(words) == std::string::npos) continue;
      const std::string at = std::filesystem::read_symlink(entry.path() / "cwd", error);
      if (!at.starts_with(fleet()->folder().path().string())) continue;
      const std::string status = read_file(entry.path() / "status");
      const std::size_t parent = status.find("PPid:");
      if (parent == std::string::npos) continue;
      const auto node = std::strtoul(status.c_str() + parent + 5, nullptr, 10);
      if (read_file("/proc/" + std::to_string(node) + "/cmdline").find("node-" + cluster) != std::string::npos)
        found.push_back({std::stoi(name)});
    }
    return found;
  }
  static PodProcess only(const std::vector<PodProcess>& processes) {
    return processes.size() == 1 ? processes.front() : PodProcess{};
  }
  static std::vector<PodProcess> gateway_processes() { return processes_of("gateway", "run", "hub"); }
  static PodProcess gateway_process() { return only(gateway_processes()); }
  static PodProcess agent_process() { return only(processes_of("agent", "run", "c1")); }
  static Json published() { return hub().get("/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway"); }
  static int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

  static void make_map(const std::string& name) {
    ASSERT_EQ(member()
                  .create(std::string(kFaultMaps), {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}})
                  .status,
              201);
  }
};

TEST_F(ProxyFaults, A_ManyRequestsLeaveNothing) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  const PodProcess gateway = gateway_process();
  const PodProcess agent = agent_process();
  ASSERT_GT(gateway.pid, 0);
  ASSERT_GT(agent.pid, 0);
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const kube::Response answer = ask_once(*client);
      ASSERT_EQ(answer.status, 200) << i << ": " << answer.body;
      if (i % 50 != 0) continue;
      // One that its client leaves, and one with a connection of its own.
      kube::BlockingWatch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5))
          .next(std::chrono::seconds(5), {});
      const auto other = through_gateway();
      ASSERT_TRUE(other);
      ASSERT_EQ(ask_once(*other).status, 200);
    }
  };
  const char* more = std::getenv("FLEETADM_PROXY_REQUESTS");
  const int count = more == nullptr ? 2000 : std::max(std::atoi(more), 1);
  rounds(500);  // pools and caches are filled
  std::size_t gateway_fds = gateway.descriptors();
  std::size_t agent_fds = agent.descriptors();
  const std::size_t gateway_kib = gateway.memory_kib();
  const std::size_t agent_kib = agent.memory_kib();
  rounds(count);
  EXPECT_TRUE(eventually([&] { return gateway.descriptors() <= gateway_fds + 2 && agent.descriptors() <= agent_fds + 2; }))
      << "gateway " << gateway_fds << " → " << gateway.descriptors() << ", agent " << agent_fds << " → " << agent.descriptors();
  EXPECT_LT(gateway.memory_kib(), gateway_kib + 6 * 1024) << "from " << gateway_kib << " KiB";
  EXPECT_LT(agent.memory_kib(), agent_kib + 6 * 1024) << "from " << agent_kib << " KiB";
  RecordProperty("gateway_fds", std::to_string(gateway_fds) + " " + std::to_string(gateway.descriptors()));
  RecordProperty("agent_fds", std::to_string(agent_fds) + " " + std::to_string(agent.descriptors()));
  RecordProperty("gateway_kib", std::to_string(gateway_kib) + " " + std::to_string(gateway.memory_kib()));
  RecordProperty("agent_kib", std::to_string(agent_kib) + " " + std::to_string(agent.memory_kib()));
}

TEST_F(ProxyFaults, B_RunningStreamsGoOnWhileTheHubsServerIsAway) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5));
  make_map("before");
  ASSERT_TRUE(is_told(watch, "before"));
  hub().stop_apiserver();
  make_map("while");
  EXPECT_TRUE(is_told(watch, "while"));
  // Who was known is let in for some seconds more; then nobody can say who asks.
  EXPECT_TRUE(becomes(*client, 503, std::chrono::seconds(30)));
  make_map("longer");
  EXPECT_TRUE(is_told(watch, "longer")) << "what runs is not asked again";
  ASSERT_TRUE(hub().start_apiserver());
  EXPECT_TRUE(answers_again());
  make_map("after");
  EXPECT_TRUE(is_told(watch, "after"));
}

TEST_F(ProxyFaults, C_AMemberThatRestartsIsSaidAndComesBack) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5));
  make_map("there");
  ASSERT_TRUE(is_told(watch, "there"));
  member().stop_apiserver();
  EXPECT_TRUE(end_of(watch, std::chrono::seconds(20))) << "a stream to nobody";
  const auto begun = Steady::now();
  const kube::Response said = ask_once(*client);
  EXPECT_LT(Steady::now() - begun, std::chrono::seconds(10));
  EXPECT_EQ(said.status, 502) << said.body;
  const Json status = parse_json(said.body).value_or(Json());
  EXPECT_EQ(str(status, {"kind"}), "Status") << said.body;
  EXPECT_FALSE(str(status, {"message"}).empty());
  ASSERT_TRUE(member().start_apiserver());
  EXPECT_TRUE(becomes(*client, 200, std::chrono::seconds(60)));
}

TEST_F(ProxyFaults, C_WhatIsKnownToBeDownIsToldAtOnceAndTriedWhereThatIsWanted) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  ASSERT_TRUE(becomes(*client, 200, std::chrono::seconds(30)));
  const std::string cluster = std::string(kManagedClusters) + "/c1";
  const auto hold = [&](const Json& failure) {
    const Json patch{{"metadata", {{"annotations", {{"fleetadm.io/failure-hold", failure}}}}}};
    ASSERT_EQ(hub().request("PATCH", cluster, dump_json(patch), "application/merge-patch+json").status, 200);
  };
  member().stop_apiserver();
  ASSERT_NO_FATAL_FAILURE(hold("0s"));  // which the agent hears of, and looks
  ASSERT_TRUE(condition_becomes(hub(), cluster, "ManagedClusterConditionAvailable", "False"));
  ASSERT_TRUE(becomes(*client, 503, std::chrono::seconds(10)));
  const auto begun = Steady::now();
  const kube::Response said = ask_once(*client);
  EXPECT_LT(Steady::now() - begun, std::chrono::milliseconds(100));
  EXPECT_EQ(said.status, 503);
  EXPECT_NE(said.body.find("is down for"), std::string::npos) << said.body;
  const std::vector<std::string> get{"get", "configmaps", "--cluster", "c1", "--context", "hub"};
  const Ran told = run(get);
  EXPECT_NE(told.code, 0);
  EXPECT_NE(told.err.find("is down for"), std::string::npos) << told.both();
  auto anyway = get;
  anyway.emplace_back("--ignore-availability");
  const Ran tried = run(anyway);
  EXPECT_NE(tried.code, 0);
  EXPECT_EQ(tried.err.find("is down for"), std::string::npos) << tried.both();
  ASSERT_TRUE(member().start_apiserver());
  EXPECT_TRUE(becomes(*client, 200, std::chrono::seconds(60)));
  ASSERT_NO_FATAL_FAILURE(hold(nullptr));
}

TEST_F(ProxyFaults, D_AnAgentThatIsSilentFailsTheFirstRequestInSecondsAndNoOtherCluster) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  const auto other = through_gateway("c2");
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(becomes(*client, 200, std::chrono::seconds(30)));
  ASSERT_TRUE(becomes(*other, 200, std::chrono::seconds(30)));
  const PodProcess agent = agent_process();
  ASSERT_GT(agent.pid, 0);
  ASSERT_NO_FATAL_FAILURE(agent.freeze());
  const auto begun = Steady::now();
  auto said = std::async(std::launch::async, [&] { return ask_once(*client); });
  int answered = 0;
  Duration slowest{};
  do {
    const auto asked = Steady::now();
    const kube::Response answer = ask_once(*other);
    slowest = std::max<Duration>(slowest, Steady::now() - asked);
    if (answer.status != 200) break;
    ++answered;
  } while (said.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
  const kube::Response lost = said.get();
  const auto lasted = Steady::now() - begun;
  ::kill(agent.pid, SIGCONT);
  EXPECT_EQ(lost.status, 504) << lost.body;
  EXPECT_LT(lasted, std::chrono::seconds(7));  // under 4 s on a machine at rest
  EXPECT_GT(answered, 10) << "the other cluster was held up";
  EXPECT_LT(slowest, std::chrono::seconds(2)) << "of " << answered;
  EXPECT_TRUE(becomes(*client, 200, std::chrono::seconds(30)));
}

TEST_F(ProxyFaults, E_AGatewayThatWasAwayForLongerThanEveryTimeOutServesAgain) {
  const PodProcess gateway = gateway_process();
  const PodProcess agent = agent_process();
  ASSERT_GT(gateway.pid, 0);
  ASSERT_GT(agent.pid, 0);
  const SocketNumbers tunnel = agent.among(sockets_of_port(port_of(str(published(), {"data", "tunnel"})), false));
  ASSERT_FALSE(tunnel.empty());
  ASSERT_NO_FATAL_FAILURE(gateway.freeze());
  const auto begun = Steady::now();
  const bool noticed = eventually([&] { return agent.among(tunnel).empty(); }, std::chrono::seconds(30));
  const auto lasted = Steady::now() - begun;
  ::kill(gateway.pid, SIGCONT);
  EXPECT_TRUE(noticed) << "the agent keeps a tunnel that is silent";
  EXPECT_LT(lasted, std::chrono::seconds(17));  // 14 s on a machine at rest
  EXPECT_TRUE(answers_again(std::chrono::seconds(30)));
}

TEST_F(ProxyFaults, F_WhatIsKilledEndsItsStreamsAndServesAgain) {
  for (const auto& find_it : {gateway_process, agent_process}) {
    const auto client = through_gateway();
    ASSERT_TRUE(client) << client.error().message;
    kube::BlockingWatch watch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5));
    const PodProcess victim = find_it();
    ASSERT_GT(victim.pid, 0);
    make_map("before-" + std::to_string(victim.pid));
    ASSERT_TRUE(is_told(watch, "before-" + std::to_string(victim.pid)));
    ASSERT_EQ(::kill(victim.pid, SIGKILL), 0);
    const auto ended = end_of(watch, std::chrono::seconds(5));
    ASSERT_TRUE(ended);
    EXPECT_TRUE(ended->error) << "it is no end in order";
    EXPECT_TRUE(answers_again());
  }
}

TEST_F(ProxyFaults, G_OfTwoReplicasEachMayLeave) {
  ASSERT_EQ(hub()
                .request("PATCH", "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-gateway",
                         R"({"spec":{"replicas":2}})", "application/merge-patch+json")
                .status,
            200);
  const auto replicas = [] {
    const std::string tunnels = str(published(), {"data", "tunnel"});
    return std::count(tunnels.begin(), tunnels.end(), ':');
  };
  ASSERT_TRUE(eventually([&] { return replicas() == 2; }, std::chrono::seconds(60)));
  // Until the agent has come to both, one sends on what it is asked to the other.
  const PodProcess agent = agent_process();
  ASSERT_TRUE(eventually(
      [&] {
        std::istringstream tunnels(str(published(), {"data", "tunnel"}));
        for (std::string one; std::getline(tunnels, one);) {
          if (agent.among(sockets_of_port(port_of(one), false)).empty()) return false;
        }
        return true;
      },
      std::chrono::seconds(60)));
  ASSERT_TRUE(answers_again());
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5));
  make_map("two");
  ASSERT_TRUE(is_told(watch, "two"));

  const SocketNumbers listener = sockets_of_port(port_of(str(published(), {"data", "server"})), true);
  PodProcess serving;
  PodProcess other;
  for (const PodProcess& one : gateway_processes()) (one.among(listener).empty() ? other : serving) = one;
  ASSERT_GT(serving.pid, 0);
  ASSERT_GT(other.pid, 0);
  ASSERT_EQ(::kill(other.pid, SIGTERM), 0);
  ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(other.proc()); }));
  make_map("one");
  EXPECT_TRUE(is_told(watch, "one")) << "the other replica's end is nothing to this stream";
  EXPECT_EQ(ask_once(*client).status, 200);
  // The one that left comes back, and then the other leaves: what it serves goes on for a while, and what is new goes elsewhere.
  ASSERT_TRUE(eventually([&] { return replicas() == 2 && gateway_processes().size() == 2; }, std::chrono::seconds(60)));
  ASSERT_EQ(::kill(serving.pid, SIGTERM), 0);
  ASSERT_TRUE(eventually([&] { return replicas() == 1; }));
  EXPECT_TRUE(answers_again());
  make_map("drained");
  EXPECT_TRUE(is_told(watch, "drained"));
}

TEST_F(ProxyFaults, H_AnAgentListensForItsHealthAlone) {
  const PodProcess agent = agent_process();
  ASSERT_GT(agent.pid, 0);
  EXPECT_EQ(agent.listens_on().size(), 1U) << "for the probes of its pod";
  // From a terminal, there is not even that.
  sandbox::ChildSpec spec;
  spec.program = Fleet::binary();
  spec.args = {"agent", "run", "--kubeconfig", member().kubeconfig_file(), "--cluster-name", "c1"};
  spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (fleet()->folder().path() / "agent.log").string();
  auto bare = sandbox::Child::start(spec);
  ASSERT_TRUE(bare) << bare.error().message;
  const PodProcess process{bare->pid()};
  ASSERT_TRUE(eventually([&] { return !process.among(sockets_of_port(port_of(member().url()), false)).empty(); }))
      << "it does nothing: " << read_file(spec.output_file);
  EXPECT_EQ(process.listens_on(), std::set<int>{});
  bare->stop(std::chrono::seconds(5));
}

/// Agents get certificates that are due after some seconds: a controller manager dates them five minutes back, and they are
/// renewed when 20 to 25 % of their life are left.
class ProxyRotation : public ProxyFaults {
 protected:
  static void SetUpTestSuite() {
    KubeServerOptions of_hub;
    of_hub.controller_manager_flags = {"--cluster-signing-duration=95s"};
    start_fleet(of_hub);
  }
  static std::string certificate() {
    return str(member().get("/api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret"),
               {"data", "tls.crt"});
  }
};

TEST_F(ProxyRotation, CertificatesThatAreReplacedUnderLoadDropNothing) {
  const auto client = through_gateway();
  ASSERT_TRUE(client) << client.error().message;
  kube::BlockingWatch watch(*client, kube::resources::config_maps(), "default", {}, "", std::chrono::minutes(5));
  make_map("at-first");
  ASSERT_TRUE(is_told(watch, "at-first"));
  std::string last = certificate();
  ASSERT_FALSE(last.empty());
  int rotations = 0;
  int asked = 0;
  for (const auto until = Steady::now() + std::chrono::seconds(90); rotations < 2 && Steady::now() < until; ++asked) {
    const kube::Response answer = ask_once(*client);
    ASSERT_EQ(answer.status, 200) << "request " << asked << ", after " << rotations << " rotations: " << answer.body;
    if (asked % 20 != 0) continue;
    const std::string now = certificate();
    rotations += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(rotations, 2) << "in " << asked << " requests";
  make_map("at-last");
  EXPECT_TRUE(is_told(watch, "at-last"));
  RecordProperty("requests", asked);
}

}  // namespace
}  // namespace fleetadm::testkit
