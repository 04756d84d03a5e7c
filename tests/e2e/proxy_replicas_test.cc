// Two replicas of the gateway as processes behind one address for agents, as behind a Service: a request that comes to the one
// goes on to the other, which has the tunnel; and what becomes of it when that one is killed, or stops in order. The member is a
// sandbox server of this process, with a pod.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/proxy/client/gateway_access.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/hub/gateway_replicas.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/stream/command_stream.h"
#include "kubeclient/watch/blocking_watch.h"
#include "tests/support/faulty_relay.h"
#include "tests/support/fleet_test.h"
#include "tests/support/stream_lab.h"
#include "tests/support/watches.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr std::string_view kReplicaMap = "/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway";
constexpr std::string_view kReplicasMemberMaps = "/api/v1/namespaces/default/configmaps";
constexpr auto kDrain = seconds(5);

/// A replica, and where it listens.
struct ReplicaProcess {
  std::string name;
  int port = free_port();
  int tunnel_port = free_port();
  int peer_port = free_port();
  std::string log;
  std::optional<sandbox::Child> process = {};
};

std::string at_port(int port) { return "127.0.0.1:" + std::to_string(port); }

class ProxyReplicas : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, false));
    const Ran made = run({"init", "--context", "hub"});
    ASSERT_EQ(made.code, 0) << made.both();
    allow_carol(fleet()->hub(),
                {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    expect_made(std::string(kManagedClusters), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                                {"kind", "ManagedCluster"},
                                                {"metadata", {{"name", "c1"}}},
                                                {"spec", {{"hubAcceptsClient", true}}}});
  }
  static void expect_made(const std::string& collection, const Json& object) {
    const KubeServer::Answer made = fleet()->hub().create(collection, object);
    ASSERT_EQ(made.status, 201) << made.body;
  }

  void SetUp() override {
    FleetTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    member_ = std::make_unique<StreamLab>();
    member_->add_pod("p", "exec sleep 1000");
    member_->allow("carol", {"get", "list", "watch", "create"}, {"configmaps", "pods", "pods/exec"});
    agents_way_ = std::make_unique<FaultyRelay>(holder_.tunnel_port);
    ASSERT_NO_FATAL_FAILURE(start(holder_));
    ASSERT_NO_FATAL_FAILURE(start_agent());
    ASSERT_TRUE(becomes_served(holder_));
    ASSERT_NO_FATAL_FAILURE(start(asked_));
    ASSERT_TRUE(becomes_served(asked_));
  }
  void TearDown() override {
    agent_.reset();
    agent_runtime_.stop();
    for (ReplicaProcess* one : {&holder_, &asked_}) {
      if (one->process) one->process->stop(seconds(0));
    }
    if (!fleet()) return;
    fleet()->hub().request("DELETE", kReplicaMap);
  }

  void start(ReplicaProcess& replica) {
    replica.log = (fleet()->folder().path() / (replica.name + std::to_string(replica.port) + ".log")).string();
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"gateway",
                 "run",
                 "--kubeconfig",
                 fleet()->hub().kubeconfig_file(),
                 "--address=" + at_port(replica.port),
                 "--tunnel-address=" + at_port(replica.tunnel_port),
                 "--peer-address=" + at_port(replica.peer_port),
                 "--public-tunnel-address=" + at_port(agents_way_->port()),
                 "--drain-timeout=" + std::to_string(kDrain.count()) + "s"};
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = replica.log;
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    replica.process.emplace(std::move(*child));
    ASSERT_TRUE(eventually([&] { return is_published(replica); }, seconds(60))) << read_file(replica.log);
  }
  static bool is_published(const ReplicaProcess& replica) {
    const auto known = parse_json(str(fleet()->hub().get(kReplicaMap), {"metadata", "annotations", proxy::kReplicasAnnotation}));
    return known && known->contains(at_port(replica.peer_port));
  }

  void start_agent() {
    pki::LeafOptions leaf;
    leaf.subject = {"system:open-cluster-management:c1:a1",
                    {"system:open-cluster-management:c1", std::string(api::kManagedClustersGroup)},
                    {}};
    leaf.client = true;
    const auto certificate = pki::issue(fleet()->hub().ca(), leaf);
    ASSERT_TRUE(certificate) << certificate.error().message;
    auto member = proxy::hop_options(member_->config());
    ASSERT_TRUE(member) << member.error().message;
    auto api_server = proxy::Http1Hop::make(agent_runtime_.executor(), std::move(*member));
    ASSERT_TRUE(api_server) << api_server.error().message;
    proxy::TunnelClientOptions options;
    options.certificate = [own = *certificate] { return Result<pki::KeyPair>(own); };
    member_hop_ = std::make_shared<proxy::MemberHop>(std::move(*api_server));
    options.handle = proxy::answer_tunnel(member_hop_);
    agent_ = std::make_unique<proxy::TunnelClients>(agent_runtime_, std::move(options));
    const Status told =
        agent_->set_gateways({at_port(agents_way_->port())}, str(fleet()->hub().get(kReplicaMap), {"data", "ca.crt"}));
    ASSERT_TRUE(told) << told.error().message;
  }

  /// The member through a replica, or through what brings connections to one, as carol.
  static Result<kube::RestConfig> config_of(int port) {
    kube::ConfigOverrides overrides;
    overrides.kubeconfig = fleet()->hub().kubeconfig_file_for("carol");
    FLEETADM_TRY(const kube::RestConfig config, kube::load_rest_config(overrides));
    FLEETADM_TRY(auto gateway, proxy::find_gateway(kube::Client::connect(config)));
    gateway.server = "https://" + at_port(port);
    return proxy::member_config(config, gateway, "c1");
  }
  static kube::Client client_of(int port) { return kube::Client::connect(config_of(port).value()); }
  /// One GET, not repeated: status, and what was said.
  static kube::Response ask_for_maps(const kube::Client& client) {
    kube::Request request;
    request.path = kReplicasMemberMaps;
    request.timeout = seconds(30);
    auto answer = client.transport()->call(request);
    return answer ? *answer : kube::Response{0, {}, answer.error().message};
  }
  /// One POST, not repeated.
  static kube::Response make_through(const kube::Client& client, const std::string& name) {
    kube::Request request;
    request.method = kube::Method::kPost;
    request.path = kReplicasMemberMaps;
    request.body = dump_json({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}});
    request.timeout = seconds(30);
    auto answer = client.transport()->call(request);
    return answer ? *answer : kube::Response{0, {}, answer.error().message};
  }
  static testing::AssertionResult becomes_served(const ReplicaProcess& replica) {
    kube::Response last;
    if (eventually([&] { return (last = ask_for_maps(client_of(replica.port))).status == 200; }, seconds(60)))
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << last.status << ": " << last.body << "\n" << read_file(replica.log);
  }
  void make_map(const std::string& name) const {
    const auto [status, body] =
        member_->ask("POST", std::string(kReplicasMemberMaps), dump_json({{"metadata", {{"name", name}}}}));
    ASSERT_EQ(status, 201) << body;
  }
  static std::unique_ptr<kube::BlockingWatch> watch_by(const kube::Client& client) {
    return std::make_unique<kube::BlockingWatch>(client, kube::resources::config_maps(), "default", kube::ListOptions{}, "",
                                                 std::chrono::minutes(5));
  }
  /// A command that says back what it reads.
  static std::unique_ptr<kube::CommandStream> run_cat(int port) {
    kube::Request request;
    request.path = "/api/v1/namespaces/default/pods/p/exec";
    request.query = {{"command", "cat"}, {"stdin", "true"}, {"stdout", "true"}};
    auto stream = kube::CommandStream::open(config_of(port).value(), request);
    EXPECT_TRUE(stream) << stream.error().message;
    return stream ? std::move(*stream) : nullptr;
  }
  static testing::AssertionResult says_back(kube::CommandStream& stream, const std::string& text) {
    if (const auto sent = stream.send_input(text, seconds(10)); !sent) return testing::AssertionFailure() << sent.error().message;
    std::string heard;
    while (heard.size() < text.size()) {
      const auto piece = stream.next(seconds(15));
      if (!piece) return testing::AssertionFailure() << piece.error().message;
      if (!*piece) return testing::AssertionFailure() << "nothing more after \"" << heard << "\"";
      heard += (*piece)->bytes;
    }
    return heard == text ? testing::AssertionSuccess() : testing::AssertionFailure() << heard;
  }
  static bool breaks_off(kube::CommandStream& stream) {
    for (int i = 0; i < 100 && !stream.over(); ++i) {
      if (!stream.next(std::chrono::milliseconds(200))) return true;
    }
    return false;
  }

  std::unique_ptr<StreamLab> member_;
  ReplicaProcess holder_{.name = "holder"};  // has the tunnel
  ReplicaProcess asked_{.name = "asked"};
  std::unique_ptr<FaultyRelay> agents_way_;
  serve::HttpRuntime agent_runtime_{1};
  std::shared_ptr<proxy::Hop> member_hop_;  // goes when the runtime has stopped
  std::unique_ptr<proxy::TunnelClients> agent_;
};

TEST_F(ProxyReplicas, ARequestGoesOnToTheOneThatHasTheTunnel) {
  const kube::Client client = client_of(asked_.port);
  const kube::Response list = ask_for_maps(client);
  EXPECT_EQ(list.status, 200) << list.body;
  EXPECT_EQ(make_through(client, "posted").status, 201);
  EXPECT_EQ(make_through(client, "posted").status, 409) << "the member's own answer";
  const auto watch = watch_by(client);
  EXPECT_TRUE(is_told(*watch, "posted"));
  make_map("later");
  EXPECT_TRUE(is_told(*watch, "later"));
  const auto command = run_cat(asked_.port);
  ASSERT_TRUE(command);
  EXPECT_TRUE(says_back(*command, "hello"));
  EXPECT_TRUE(says_back(*command, std::string(300'000, 'x')));
  ASSERT_TRUE(command->end_input());
  while (!command->over() && command->next(seconds(10))) {
  }
  EXPECT_EQ(command->exit_code(), 0);
}

TEST_F(ProxyReplicas, WhatRunsOnOneThatIsKilledIsCutAndTheNextRequestIsServed) {
  const kube::Client client = client_of(asked_.port);
  const auto watch = watch_by(client);
  make_map("before");
  ASSERT_TRUE(is_told(*watch, "before"));
  const auto command = run_cat(asked_.port);
  ASSERT_TRUE(command);
  ASSERT_TRUE(says_back(*command, "hello"));
  agents_way_->aim(asked_.tunnel_port);
  holder_.process->signal(SIGKILL);
  const auto ended = end_of(*watch, seconds(20));
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->error) << "it is no end in order";
  EXPECT_TRUE(breaks_off(*command));
  const kube::Response next = ask_for_maps(client);
  EXPECT_EQ(next.status, 200) << next.body << "\n" << read_file(asked_.log);
  const kube::Response made = make_through(client, "after");
  EXPECT_EQ(made.status, 201) << made.body;
}

TEST_F(ProxyReplicas, NoRequestFailsWhileOneStopsInOrder) {
  FaultyRelay clients_way(holder_.port);
  const kube::Client kept = client_of(clients_way.port());
  const kube::Client other = client_of(asked_.port);
  const auto own = watch_by(client_of(holder_.port));
  const auto sent_on = watch_by(other);
  const auto command = run_cat(asked_.port);
  ASSERT_TRUE(command);
  make_map("before");
  ASSERT_TRUE(is_told(*own, "before"));
  ASSERT_TRUE(is_told(*sent_on, "before"));

  agents_way_->aim(asked_.tunnel_port);
  holder_.process->terminate();
  // A Service brings clients to it for a moment more, and those that have a connection use it.
  const auto begun = std::chrono::steady_clock::now();
  int asked = 0;
  for (; asked < 10 || std::chrono::steady_clock::now() - begun < seconds(2); ++asked) {
    if (asked == 2) clients_way.aim(asked_.port);
    for (const kube::Client& client : {kept, client_of(clients_way.port()), other}) {
      const kube::Response answer = ask_for_maps(client);
      ASSERT_EQ(answer.status, 200) << "round " << asked << ": " << answer.body << "\n"
                                    << read_file(holder_.log) << read_file(asked_.log);
    }
    const kube::Response made = make_through(other, "made-" + std::to_string(asked));
    ASSERT_EQ(made.status, 201) << "round " << asked << ": " << made.body;
  }
  RecordProperty("rounds", asked);
  if (holder_.process->running()) {
    EXPECT_TRUE(is_told(*own, "made-0")) << "what runs has its time";
    EXPECT_TRUE(is_told(*sent_on, "made-0"));
    EXPECT_TRUE(says_back(*command, "hello"));
  }
  // Then its time is over.
  ASSERT_TRUE(holder_.process->wait(kDrain + seconds(20)));
  for (kube::BlockingWatch* watch : {own.get(), sent_on.get()}) {
    const auto ended = end_of(*watch, seconds(20));
    ASSERT_TRUE(ended);
    EXPECT_TRUE(ended->error) << "it is no end in order";
  }
  EXPECT_TRUE(breaks_off(*command));
  EXPECT_EQ(ask_for_maps(other).status, 200);
}

}  // namespace
}  // namespace fleetadm::testkit
