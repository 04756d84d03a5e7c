// From a client to a pod of a member that only its agent reaches: the front, a tunnel, the agent's end, and an API server whose
// own rules judge the caller. All over real TLS, with clients that speak WebSockets and SPDY.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "kubeclient/stream/command_stream.h"
#include "kubeclient/stream/forward_stream.h"
#include "tests/support/echo_port.h"
#include "tests/support/raw_client.h"
#include "tests/support/stream_clients.h"
#include "tests/support/stream_lab.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

class WholeWay : public GatewayLab {
 protected:
  WholeWay() {
    options_.hop = [this](std::string_view cluster) { return registry_->find(cluster); };
    member_.on_port([this](int port) { echo_ = std::make_unique<testkit::EchoPort>(port); });
    member_.add_pod("p", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 80}}})}});
    start();
    TunnelServerOptions server;
    server.address = "127.0.0.1";
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    server.certificate = *pki::issue(serving_ca_, leaf);
    server.client_ca = hub_ca_.certificate;
    server_ = std::move(*TunnelServer::start(runtime_, server, registry_));
    start_agent();
  }
  ~WholeWay() override {
    agent_.reset();
    listener_.reset();
    server_.reset();
    agent_runtime_.stop();
    runtime_.stop();
  }

  void start_agent() { start_agent(*hop_options(member_.config())); }
  void start_agent(const Http1HopOptions& member) {
    auto api_server = *Http1Hop::make(agent_runtime_.executor(), member);
    TunnelClientOptions options;
    options.certificate = [this]() -> Result<pki::KeyPair> { return agent_certificate_; };
    hops_.push_back(std::make_shared<MemberHop>(std::move(api_server)));
    options.handle = answer_tunnel(hops_.back());
    agent_ = std::make_unique<TunnelClients>(agent_runtime_, std::move(options));
    ASSERT_TRUE(agent_->set_gateways({server_->endpoint()}, serving_ca_.certificate));
    for (int i = 0; i < 1000 && !registry_->has("c1"); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(registry_->has("c1"));
  }

  /// Somebody's connection to the member through the gateway, as kubectl has it.
  kube::RestConfig through_gateway(const pki::KeyPair& who) const {
    kube::RestConfig config;
    config.name = "through the gateway";
    config.server = "https://" + listener_->endpoint() + "/clusters/c1/proxy";
    config.ca_data = serving_ca_.certificate;
    config.credentials = kube::static_credentials({.client_certificate = who.certificate, .client_key = who.key});
    return config;
  }
  static kube::Request exec(const std::vector<std::string>& command, kube::Query streams) {
    kube::Request request;
    request.path = "/api/v1/namespaces/default/pods/p/exec";
    request.query = std::move(streams);
    for (const auto& word : command) request.query.emplace_back("command", word);
    return request;
  }
  static std::string hear_all(kube::CommandStream& stream) {
    std::string heard;
    while (!stream.over()) {
      const auto piece = stream.next(10s);
      if (!piece || (!*piece && !stream.over())) return heard + "!" + (piece ? "nothing" : piece.error().message);
      if (*piece) heard += (*piece)->bytes;
    }
    return heard;
  }
  void allow_jane() {
    member_.allow("jane", {"get", "list", "watch", "create"}, {"pods", "pods/exec", "pods/portforward", "configmaps"});
  }

  pki::KeyPair agent_certificate_ =
      certificate_of({"system:open-cluster-management:c1:a1",
                      {"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"},
                      {}});
  std::unique_ptr<testkit::EchoPort> echo_;
  testkit::StreamLab member_;
  std::shared_ptr<TunnelRegistry> registry_ = std::make_shared<TunnelRegistry>();
  serve::HttpRuntime agent_runtime_{1};
  std::unique_ptr<TunnelServer> server_;
  std::vector<std::shared_ptr<Hop>> hops_;  // they go when the runtime has stopped
  std::unique_ptr<TunnelClients> agent_;
};

TEST_F(WholeWay, TheMembersOwnRulesJudgeTheCaller) {
  const auto refused = ask_as_jane({.target = "/clusters/c1/proxy/api/v1/namespaces/default/pods"});
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("User \\\"jane\\\" cannot list resource \\\"pods\\\""), std::string::npos) << refused.body;
  allow_jane();
  for (const bool http2 : {false, true}) {
    const auto answer = ask_as_jane({.target = "/clusters/c1/proxy/api/v1/namespaces/default/pods", .http2 = http2});
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_NE(answer.body.find("PodList"), std::string::npos);
  }
  // On the hub she is a master; there it means nothing.
  EXPECT_EQ(ask_as_jane({.target = "/clusters/c1/proxy/api/v1/secrets"}).status, 403);
  // An identity of the hub's own that the member has an account of the same name for.
  tokens_["t"] = {{"user",
                   {{"username", "system:serviceaccount:kube-system:default"},
                    {"groups", {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:masters"}}}}};
  const auto account = ask({.target = "/c1/api/v1/namespaces/default/pods", .token = "t"});
  EXPECT_EQ(account.status, 403);
  EXPECT_NE(account.body.find("cluster:hub:system:serviceaccount:kube-system:default"), std::string::npos) << account.body;
}

TEST_F(WholeWay, TheAgentsCertificateOpensNothingAtTheFront) {
  for (const char* target : {"/clusters/c1/proxy/api/v1/pods", "/clusters/c2/proxy/api/v1/pods"})
    EXPECT_EQ(ask({.target = target, .certificate = &agent_certificate_}).status, 403) << target;
}

TEST_F(WholeWay, WritesAndWatches) {
  allow_jane();
  testkit::RawClient watcher(listener_->port(), serving_ca_.certificate, jane_);
  ASSERT_TRUE(watcher.send("GET /clusters/c1/proxy/api/v1/namespaces/default/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string heard;
  ASSERT_TRUE(watcher.receive(heard));
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 200")) << heard;
  const auto made = ask_as_jane({.target = "/clusters/c1/proxy/api/v1/namespaces/default/configmaps?dryRun=All",
                                 .method = "POST",
                                 .headers = {"Content-Type: application/json"},
                                 .body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dry"}})"});
  EXPECT_EQ(made.status, 201) << made.body;
  const auto kept = ask_as_jane({.target = "/clusters/c1/proxy/api/v1/namespaces/default/configmaps",
                                 .method = "POST",
                                 .headers = {"Content-Type: application/json"},
                                 .body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"}})"});
  EXPECT_EQ(kept.status, 201) << kept.body;
  while (heard.find("\"kept\"") == std::string::npos && watcher.receive(heard)) {
  }
  EXPECT_NE(heard.find("\"kept\""), std::string::npos);
  EXPECT_EQ(heard.find("\"dry\""), std::string::npos) << "a dry run is dry";
}

TEST_F(WholeWay, RunsCommandsOverAWebSocket) {
  allow_jane();
  auto stream = kube::CommandStream::open(through_gateway(jane_),
                                          exec({"sh", "-c", "cat; echo end; exit 7"}, {{"stdin", "true"}, {"stdout", "true"}}));
  ASSERT_TRUE(stream) << stream.error().message;
  const std::string much(300'000, 'x');
  ASSERT_EQ(*(*stream)->send_input("hello ", 10s), 6U);
  std::string_view left = much;
  std::string heard;
  while (!left.empty()) {
    const auto sent = (*stream)->send_input(left, 50ms);
    ASSERT_TRUE(sent) << sent.error().message;
    left.remove_prefix(*sent);
    const auto piece = (*stream)->next(*sent == 0 ? Duration(50ms) : Duration::zero());
    ASSERT_TRUE(piece) << piece.error().message;
    if (*piece) heard += (*piece)->bytes;
  }
  ASSERT_TRUE((*stream)->end_input());
  heard += hear_all(**stream);
  EXPECT_EQ(heard, "hello " + much + "end\n");
  EXPECT_EQ((*stream)->exit_code(), 7);
}

TEST_F(WholeWay, RunsCommandsOverSpdy) {
  allow_jane();
  testkit::RawClient raw(listener_->port(), serving_ca_.certificate, jane_);
  std::string head;
  std::string bytes;
  ASSERT_EQ(
      testkit::send_upgrade(raw,
                            "POST /clusters/c1/proxy/api/v1/namespaces/default/pods/p/exec?command=cat&stdin=true&stdout=true "
                            "HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n"
                            "x-stream-protocol-version: v4.channel.k8s.io\r\n",
                            head, bytes),
      101)
      << head;
  EXPECT_NE(head.find("v4.channel.k8s.io"), std::string::npos) << head;
  testkit::SpdyClient client;
  const std::vector<std::string> types = {"error", "stdin", "stdout"};
  for (std::uint32_t i = 0; i < types.size(); ++i) ASSERT_TRUE(raw.send(client.open(2 * i + 1, {{"streamtype", types[i]}})));
  ASSERT_TRUE(raw.send(testkit::SpdyClient::data(3, "over spdy\n") + testkit::SpdyClient::data(3, "", true)));
  std::map<std::uint32_t, std::string> heard;
  std::set<std::uint32_t> ended;
  while (!ended.contains(1) || !ended.contains(5)) {
    const auto frame = testkit::SpdyClient::cut(bytes);
    if (!frame) {
      ASSERT_TRUE(raw.receive(bytes));
      continue;
    }
    if (frame->control) continue;
    heard[frame->stream] += frame->payload;
    if (frame->flags == 1) ended.insert(frame->stream);
  }
  EXPECT_EQ(heard[5], "over spdy\n");
  EXPECT_NE(heard[1].find("Success"), std::string::npos);
}

TEST_F(WholeWay, ForwardsPorts) {
  allow_jane();
  kube::Request request;
  request.path = "/api/v1/namespaces/default/pods/p/portforward";
  auto stream = kube::ForwardStream::open(through_gateway(jane_), request);
  ASSERT_TRUE(stream) << stream.error().message;
  const auto id = (*stream)->connect(80);
  ASSERT_TRUE(id);
  ASSERT_TRUE((*stream)->send(*id, "hello", 10s));
  ASSERT_TRUE((*stream)->end(*id));
  std::string heard;
  while (true) {
    const auto event = (*stream)->next(10s);
    ASSERT_TRUE(event && *event) << (event ? "nothing" : event.error().message);
    if ((*event)->kind != kube::ForwardStream::Event::Kind::kData) break;
    heard += (*event)->bytes;
  }
  EXPECT_EQ(heard, "HELLO");
}

TEST_F(WholeWay, WhoMayNotRunACommandIsToldByTheMember) {
  member_.allow("jane", {"get"}, {"pods"});
  const auto refused = kube::CommandStream::open(through_gateway(jane_), exec({"true"}, {{"stdout", "true"}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403) << refused.error().message;
}

TEST_F(WholeWay, AReaderThatStopsHoldsUpNobodyElse) {
  allow_jane();
  auto stalled = kube::CommandStream::open(through_gateway(jane_), exec({"sh", "-c", "yes"}, {{"stdout", "true"}}));
  ASSERT_TRUE(stalled) << stalled.error().message;
  ASSERT_TRUE((*stalled)->next(10s));
  std::this_thread::sleep_for(300ms);  // all that it may hold is full by then
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask_as_jane({.target = "/c1/api/v1/namespaces/default/pods"}).status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
}

/// The place at the front, the stream of the tunnel, and the connection to the member.
TEST_F(WholeWay, AClientThatLeavesBeforeAnAnswerTakesAllOfItAlong) {
  std::vector<serve::Reply> unanswered;  // I/O thread only
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.ip_addresses = {"127.0.0.1"};
  serve::ListenOptions listen;
  listen.certificate = *pki::issue(serving_ca_, leaf);
  serve::HttpRuntime members{0};
  std::atomic<int> asked{0};
  auto silent = *serve::HttpListener::start_direct(members, listen, [&](const serve::HttpRequest& request, serve::Reply reply) {
    if (request.path == "/quick") return reply(serve::answer_text(200, "{}"));
    unanswered.push_back(std::move(reply));
    ++asked;
  });
  agent_.reset();
  const auto eventually = [](const auto& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
    return holds();
  };
  ASSERT_TRUE(eventually([&] { return !registry_->has("c1"); }));
  Http1HopOptions member;
  member.server = "https://" + silent->endpoint();
  member.ca = serving_ca_.certificate;
  start_agent(member);
  const auto streams = [this] {
    std::size_t count = 0;
    for (const auto& tunnel : registry_->list()) count += tunnel.streams;
    return count;
  };
  for (int i = 0; i < 3; ++i) {
    testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
    ASSERT_TRUE(client.send("GET /clusters/c1/proxy/slow HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(eventually([&] { return asked == i + 1; }));
    EXPECT_EQ(front_->running(), 1U);
    EXPECT_EQ(streams(), 1U);
    EXPECT_EQ(silent->connections(), 1U);
    client.close();
    EXPECT_TRUE(eventually([&] { return front_->running() == 0; })) << "the place of the caller";
    EXPECT_TRUE(eventually([&] { return streams() == 0; })) << "the stream of the tunnel";
    EXPECT_TRUE(eventually([&] { return silent->connections() == 0; })) << "the connection to the member";
  }
  EXPECT_EQ(ask_as_jane({.target = "/c1/quick"}).status, 200) << "the tunnel goes on";
  const auto records = audited(4);
  ASSERT_EQ(records.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(records[i].code, 0);
  EXPECT_EQ(records[3].code, 200);
  agent_.reset();
  silent.reset();
}

TEST_F(WholeWay, ATunnelThatIsGoneEndsWhatRunsAndIsSaid) {
  allow_jane();
  auto running = kube::CommandStream::open(through_gateway(jane_), exec({"sleep", "100"}, {{"stdout", "true"}}));
  ASSERT_TRUE(running) << running.error().message;
  agent_.reset();
  const auto ended = (*running)->next(10s);
  EXPECT_FALSE(ended);
  for (int i = 0; i < 500 && registry_->has("c1"); ++i) std::this_thread::sleep_for(10ms);
  const auto refused = ask_as_jane({.target = "/c1/version"});
  EXPECT_EQ(refused.status, 503) << refused.body;
  start_agent();
  EXPECT_EQ(ask_as_jane({.target = "/c1/api/v1/namespaces/default/pods"}).status, 200);
  audited(2);
  for (int i = 0; i < 500 && front_->running() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(front_->running(), 0U) << "nothing is left behind";
}

}  // namespace
}  // namespace fleetadm::proxy
