// Replicas of a gateway that send each other's requests on, over real TLS on loopback.
#include "core/proxy/peers/peers.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <list>
#include <set>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/peers/peer_identity.h"
#include "core/proxy/peers/peer_port.h"
#include "core/serve/http/upgrade.h"
#include "kubeclient/base/json.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"
#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

class PeersTest : public testing::Test {
 protected:
  /// A replica that has tunnels of some clusters.
  struct Replica {
    std::shared_ptr<FakeHop> member;
    std::set<std::string, std::less<>> clusters;
    std::unique_ptr<serve::HttpListener> listener;
  };
  ~PeersTest() override {
    runtime_.on_io_thread([this] { peers_->close(); });
    for (Replica& one : replicas_) one.listener.reset();
    runtime_.stop();
  }

  static pki::LeafOptions leaf() {
    pki::LeafOptions leaf;
    leaf.subject = {std::string(kPeerUser), {std::string(kPeerOrganization)}, {}};
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    leaf.client = true;
    return leaf;
  }
  Replica& start(std::set<std::string, std::less<>> clusters) {
    Replica& made = replicas_.emplace_back();
    made.clusters = std::move(clusters);
    made.member = std::make_shared<FakeHop>(runtime_);
    made.listener =
        serve::HttpListener::start_direct(runtime_, peer_listener("127.0.0.1", 0, *pki::issue(ca_, leaf()), ca_.certificate),
                                          answer_peers([&made](std::string_view cluster) -> std::shared_ptr<Hop> {
                                            return made.clusters.contains(cluster) ? made.member : nullptr;
                                          }))
            .value();
    return made;
  }
  void use(std::vector<std::string> more = {}, const pki::KeyPair* shown = nullptr) {
    std::vector<std::string> addresses = std::move(more);
    for (const Replica& one : replicas_) addresses.push_back(one.listener->endpoint());
    const pki::KeyPair own = shown == nullptr ? *pki::issue(ca_, leaf()) : *shown;
    runtime_.on_io_thread([&] { peers_->use(addresses, ca_.certificate, own); });
  }
  std::shared_ptr<TunnelAnswer> send(serve::HttpRequest request, const std::string& cluster = "c1") {
    auto answer = std::make_shared<TunnelAnswer>(runtime_, false);
    runtime_.on_io_thread([&] { peers_->way_to(cluster)->send(std::move(request), answer->receiver()); });
    EXPECT_TRUE(answer->has_head());
    return answer;
  }
  static serve::HttpRequest request_of(const std::string& path) {
    serve::HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.headers = {{"fleetadm-user", "jane"}, {"fleetadm-group", "devs"}, {"audit-id", "7"}};
    return request;
  }

  const pki::KeyPair ca_ = *pki::make_ca("gateway", 1h);
  serve::HttpRuntime runtime_{0};
  std::list<Replica> replicas_;
  static constexpr std::chrono::milliseconds kPatience{500};
  std::shared_ptr<FakeHop> own_;  // this replica's own way
  std::shared_ptr<Peers> peers_ = std::make_shared<Peers>(
      runtime_.executor(), PeersOptions{.patience = kPatience, .look = 10ms, .own = [this](std::string_view) { return own_; }});
};

TEST_F(PeersTest, ARequestFindsTheReplicaThatHasTheTunnel) {
  start({"c2"});
  Replica& holder = start({"c1"});
  use({"127.0.0.1:1"});  // of one that was killed
  serve::HttpRequest request = request_of("/api/v1/namespaces/a%2Fb/pods/x%3Ay");
  request.method = "POST";
  request.query = "dryRun=All&x=%2F";
  request.body = "the body";
  const auto answer = send(std::move(request));
  ASSERT_FALSE(answer->error()) << answer->error()->message;
  EXPECT_EQ(answer->status(), 200);
  const auto sent = holder.member->last();
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.path, "/api/v1/namespaces/a%2Fb/pods/x%3Ay");
  EXPECT_EQ(sent.query, "dryRun=All&x=%2F");
  EXPECT_EQ(sent.body, "the body");
  EXPECT_EQ(sent.header("fleetadm-user"), "jane");
  EXPECT_EQ(sent.header("fleetadm-group"), "devs");
  EXPECT_EQ(sent.header("audit-id"), "7");
  for (const std::string_view name : {kPeerCluster, kPeerQuestion, kPeerAuthorization}) EXPECT_EQ(sent.header(name), "") << name;
  EXPECT_TRUE(replicas_.front().member->requests().empty());
}

TEST_F(PeersTest, ATokenOfTheMemberGetsThereAsSuch) {
  Replica& holder = start({"c1"});
  use();
  serve::HttpRequest request = request_of("/version");
  request.headers = {{"fleetadm-token", "member"}, {"authorization", "Bearer a.b.c"}};
  EXPECT_EQ(send(std::move(request))->status(), 200);
  EXPECT_EQ(holder.member->last().header("authorization"), "Bearer a.b.c");
  EXPECT_EQ(holder.member->last().header("fleetadm-token"), "member");
}

TEST_F(PeersTest, WhereNoneHasATunnelThatIsSaidAndTheNextOneIsFound) {
  Replica& first = start({});
  start({});
  use();
  const auto none = send(request_of("/version"));
  ASSERT_TRUE(none->error());
  EXPECT_EQ(none->error()->code, 503);
  EXPECT_NE(none->error()->message.find("no tunnel to any replica"), std::string::npos);
  runtime_.on_io_thread([&] { first.clusters = {"c1"}; });
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
  // It moves on while it is remembered: a request that was not sent on finds it, with its body.
  runtime_.on_io_thread([&] {
    first.clusters.clear();
    replicas_.back().clusters = {"c1"};
  });
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
  EXPECT_EQ(replicas_.back().member->requests().size(), 1U);
  EXPECT_EQ(first.member->requests().size(), 1U);
  runtime_.on_io_thread([&] {
    first.clusters = {"c1"};
    replicas_.back().clusters.clear();
  });
  serve::HttpRequest streamed = request_of("/api/v1/pods");
  streamed.method = "POST";
  const auto pipe = serve::make_body_pipe(std::size_t{64} * 1024);
  pipe.writer->push("the body");
  pipe.writer->finish();
  streamed.content = pipe.reader;
  EXPECT_EQ(send(std::move(streamed))->status(), 200) << "it is asked anew for what cannot be sent twice";
  EXPECT_EQ(first.member->last().body, "the body");
}

TEST_F(PeersTest, ATunnelThatIsOnItsWayToAnotherReplicaIsWaitedFor) {
  Replica& first = start({"c1"});
  Replica& second = start({});
  use();
  ASSERT_EQ(send(request_of("/version"))->status(), 200);
  runtime_.on_io_thread([&] { first.clusters.clear(); });
  boost::asio::steady_timer arrives(runtime_.executor());
  const auto arrive = [&](const std::function<void()>& then) {
    runtime_.on_io_thread([&] {
      arrives.expires_after(100ms);
      arrives.async_wait([then](const boost::system::error_code&) { then(); });
    });
  };
  arrive([&] { second.clusters = {"c1"}; });
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
  EXPECT_EQ(second.member->requests().size(), 1U);
  // Or to this one.
  const auto own = std::make_shared<FakeHop>(runtime_);
  runtime_.on_io_thread([&] { second.clusters.clear(); });
  arrive([&] { own_ = own; });
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
  EXPECT_EQ(own->last().path, "/version");
  EXPECT_EQ(own->last().header(kPeerCluster), "") << "as the front has made it";
  runtime_.on_io_thread([&] { own_ = nullptr; });
  const auto begun = std::chrono::steady_clock::now();
  const auto none = send(request_of("/version"));
  ASSERT_TRUE(none->error());
  EXPECT_EQ(none->error()->code, 503);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, kPatience) << "it was there a moment ago";
}

TEST_F(PeersTest, OnlyWhatCanHaveChangedNothingIsSentAgain) {
  Replica& holder = start({"c1"});
  Replica& next = start({});
  use();
  ASSERT_EQ(send(request_of("/version"))->status(), 200);
  // The replica breaks off whatever it has taken, and its agent goes to the other.
  const auto break_off = [&] {
    holder.member->answer_with([&](const auto&) -> Result<serve::HttpResponse> {
      next.clusters = {"c1"};
      boost::asio::post(runtime_.executor(), [&] { holder.listener.reset(); });
      return serve::HttpResponse{.delay = std::chrono::seconds(10)};
    });
  };
  break_off();
  serve::HttpRequest changing = request_of("/api/v1/pods");
  changing.method = "DELETE";
  const auto lost = send(std::move(changing));
  ASSERT_TRUE(lost->error());
  EXPECT_EQ(lost->error()->code, 502);
  EXPECT_TRUE(next.member->requests().empty()) << "it may have been done";
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
  EXPECT_EQ(next.member->requests().size(), 1U);
}

TEST_F(PeersTest, NobodyButAReplicaIsServed) {
  Replica& holder = start({"c1"});
  auto serving = leaf();
  serving.subject = {"fleetadm-gateway", {}, {}};
  auto more = leaf();
  more.subject.organizations.emplace_back("devs");
  for (const pki::LeafOptions& other : {serving, more}) {
    const pki::KeyPair certificate = *pki::issue(ca_, other);
    use({}, &certificate);
    const auto answer = send(request_of("/version"));
    ASSERT_TRUE(answer->error()) << "the gateway's own CA issues other certificates, too";
  }
  const pki::KeyPair foreign_ca = *pki::make_ca("gateway", 1h);
  const pki::KeyPair foreign = *pki::issue(foreign_ca, leaf());
  use({}, &foreign);
  EXPECT_TRUE(send(request_of("/version"))->error());
  EXPECT_TRUE(holder.member->requests().empty());
  use();
  EXPECT_EQ(send(request_of("/version"))->status(), 200);
}

TEST_F(PeersTest, AReplicaThatTheCaDoesNotVouchForIsToldNothing) {
  const pki::KeyPair foreign_ca = *pki::make_ca("gateway", 1h);
  std::size_t asked = 0;
  const auto listener =
      serve::HttpListener::start_direct(runtime_, peer_listener("127.0.0.1", 0, *pki::issue(foreign_ca, leaf()), ca_.certificate),
                                        [&](serve::HttpRequest, serve::Reply reply) {
                                          ++asked;
                                          reply(serve::answer_text(204, {}));
                                        })
          .value();
  use({listener->endpoint()});
  const auto answer = send(request_of("/version"));
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->code, 503);
  EXPECT_EQ(asked, 0U);
}

TEST_F(PeersTest, WhatRunsOnAReplicaThatLeavesGoesOn) {
  Replica& holder = start({"c1"});
  const auto pipe = std::make_shared<serve::BodyPipe>(serve::make_body_pipe(std::size_t{64} * 1024));
  holder.member->answer_with([pipe](const auto&) -> Result<serve::HttpResponse> {
    serve::HttpResponse out;
    out.stream = pipe->reader;
    return out;
  });
  use();
  const auto watch = send(request_of("/api/v1/pods"));
  pipe->writer->push("one ");
  ASSERT_TRUE(watch->has(4));
  runtime_.on_io_thread([&] { peers_->use({}, ca_.certificate, *pki::issue(ca_, leaf())); });
  EXPECT_TRUE(send(request_of("/version"))->error()) << "what is new goes elsewhere";
  pipe->writer->push("two");
  pipe->writer->finish();
  EXPECT_TRUE(watch->has_ended());
  EXPECT_EQ(watch->body(), "one two");
  EXPECT_TRUE(watch->whole());
}

/// The other protocol of an upgrade: says back what it hears.
class Parrot final : public serve::UpgradedStream {
 public:
  More read(std::string& into, std::size_t most) override {
    into.append(held_, 0, most);
    held_.erase(0, most);
    return More::kLater;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override {
    held_ += bytes;
    if (wake_) wake_();
    return true;
  }
  bool takes() const override { return true; }

 private:
  std::string held_;
  std::function<void()> wake_;
};

TEST_F(PeersTest, UpgradesGoOnAsSuch) {
  Replica& holder = start({"c1"});
  holder.member->answer_with([](const serve::HttpRequest& request) -> Result<serve::HttpResponse> {
    EXPECT_EQ(request.header("upgrade"), "SPDY/3.1");
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    out.upgrade = std::make_shared<Parrot>();
    out.stream = out.upgrade;
    return out;
  });
  use();
  serve::HttpRequest request = request_of("/api/v1/namespaces/n/pods/p/exec");
  request.method = "POST";
  request.headers.emplace_back("connection", "Upgrade");
  request.headers.emplace_back("upgrade", "SPDY/3.1");
  const auto answer = send(std::move(request));
  ASSERT_FALSE(answer->error()) << answer->error()->message;
  ASSERT_EQ(answer->status(), 101);
  ASSERT_TRUE(answer->upgraded());
  ASSERT_TRUE(answer->say("hello"));
  EXPECT_TRUE(answer->has(5));
  EXPECT_EQ(answer->body(), "hello");
  answer->drop();
}

TEST_F(PeersTest, AStreamOnAReplicaThatIsKilledIsCut) {
  Replica& holder = start({"c1"});
  const auto pipe = std::make_shared<serve::BodyPipe>(serve::make_body_pipe(std::size_t{64} * 1024));
  holder.member->answer_with([pipe](const auto&) -> Result<serve::HttpResponse> {
    serve::HttpResponse out;
    out.stream = pipe->reader;
    return out;
  });
  use();
  const auto watch = send(request_of("/api/v1/pods"));
  pipe->writer->push("one");
  ASSERT_TRUE(watch->has(3));
  holder.listener.reset();
  EXPECT_TRUE(watch->has_ended());
  EXPECT_FALSE(watch->whole()) << "it is no end in order";
  holder.listener =
      serve::HttpListener::start_direct(runtime_, peer_listener("127.0.0.1", 0, *pki::issue(ca_, leaf()), ca_.certificate),
                                        [](serve::HttpRequest, serve::Reply reply) { reply(serve::answer_text(404, {})); })
          .value();
}

}  // namespace
}  // namespace fleetadm::proxy
