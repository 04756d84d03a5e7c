// Members behind something like upstream's cluster-proxy: by its user server, and by the front end of konnectivity.
#include "core/proxy/client/upstream_routes.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/proxy/client/gateway_access.h"
#include "kubeclient/stream/command_stream.h"
#include "tests/support/stream_lab.h"
#include "tests/support/upstream_lab.h"

namespace fleetadm::proxy {
namespace {

class UpstreamRoutesTest : public testing::Test {
 protected:
  UpstreamRoutesTest() { lab.add_pod("p", "exec sleep 1000"); }
  void publish(bool user_server) {
    upstream.publish(*hub, user_server);
    hub->put(api::managed_clusters(),
             {{"metadata", {{"name", "c1"}}},
              {"spec", {{"managedClusterClientConfigs", Json::array({{{"caBundle", base64_encode(upstream.member_ca())}}})}}}});
    hub->put(api::managed_clusters(), {{"metadata", {{"name", "c2"}}}});
  }
  Status start(FindCredential credential) {
    FLEETADM_TRY(const auto found, find_upstream_proxy(hub->client(), false));
    if (!found) return fail(Category::kNotFound, "no cluster-proxy");
    FLEETADM_TRY(auto found_way, upstream_way(hub->client(), lab.config(), *found, std::move(credential)));
    way = found_way.way;
    FLEETADM_TRY(relay, MemberRelay::start({std::move(found_way.route), nullptr}));
    return {};
  }
  Status start_as_account(const std::string& ca = {}) {
    return start([ca](const std::string&) -> Result<MemberCredential> { return MemberCredential{"of-the-member", ca}; });
  }
  kube::RestConfig to(const std::string& cluster) const {
    kube::RestConfig config = relay_config(relay);
    config.server += *member_prefix(cluster);
    return config;
  }
  Result<Json> pods_of(const std::string& cluster) const {
    return kube::Client::connect(to(cluster)).list(kube::resources::pods(), "default");
  }
  std::string state_of(const std::string& cluster) const {
    kube::Request request;
    request.path = "/readyz";
    const auto answer = kube::Client::connect(to(cluster)).transport()->call(request);
    const WayState state = way_state(answer, true, way);
    return state.status + "/" + std::string(to_string(state.hop));
  }
  void exec_works() const {
    kube::Request request;
    request.path = "/api/v1/namespaces/default/pods/p/exec";
    request.query = {{"stdout", "true"}, {"command", "echo"}, {"command", "heard"}};
    auto stream = kube::CommandStream::open(to("c1"), request);
    ASSERT_TRUE(stream) << stream.error().message;
    std::string heard;
    while (!(*stream)->over()) {
      const auto piece = (*stream)->next(std::chrono::seconds(10));
      ASSERT_TRUE(piece) << piece.error().message;
      if (*piece) heard += (*piece)->bytes;
    }
    EXPECT_EQ(heard, "heard\n");
  }

  testkit::StreamLab lab;
  testkit::UpstreamLab upstream{lab.config()};
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  Way way = Way::kGateway;
  std::shared_ptr<MemberRelay> relay;
};

TEST_F(UpstreamRoutesTest, TheUserServerIsAskedAsAnAccountOfTheCluster) {
  publish(true);
  const Status started = start_as_account();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(way, Way::kUserServer);
  const auto pods = pods_of("c1");
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(upstream.seen().size(), 1U);
  EXPECT_EQ(upstream.seen().front().at, "user-server");
  EXPECT_EQ(upstream.seen().front().path, "/c1/api/v1/namespaces/default/pods");
  EXPECT_EQ(upstream.seen().front().authorization, "Bearer of-the-member");
  EXPECT_NO_FATAL_FAILURE(exec_works());
  upstream.lose_agents();
  EXPECT_EQ(state_of("c1"), "NoTunnel/tunnel");
}

TEST_F(UpstreamRoutesTest, WithoutAUserServerTheMemberIsDialedThroughTheFrontEnd) {
  publish(false);
  const Status started = start_as_account(upstream.member_ca());
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(way, Way::kKonnectivity);
  const auto pods = pods_of("c1");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(upstream.dialed().front(), "c1:443");
  ASSERT_FALSE(upstream.seen().empty());
  EXPECT_EQ(upstream.seen().front().at, "member");
  EXPECT_EQ(upstream.seen().front().path, "/api/v1/namespaces/default/pods");
  EXPECT_EQ(upstream.seen().front().authorization, "Bearer of-the-member");
  EXPECT_NO_FATAL_FAILURE(exec_works());
}

TEST_F(UpstreamRoutesTest, OneConnectionServesManyRequests) {
  publish(false);
  ASSERT_TRUE(start_as_account(upstream.member_ca()));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pods_of("c1"));
  EXPECT_EQ(upstream.dialed().size(), 1U);
}

TEST_F(UpstreamRoutesTest, AMemberThatItsCaDoesNotVouchForIsToldNothing) {
  publish(false);
  ASSERT_TRUE(start_as_account(pki::make_ca("another", std::chrono::hours(1))->certificate));
  const auto pods = pods_of("c1");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().reason, kMemberNotVerified) << pods.error().message;
  EXPECT_EQ(state_of("c1"), "NotVerified/member");
  EXPECT_FALSE(upstream.dialed().empty()) << "it was reached";
  EXPECT_TRUE(upstream.seen().empty()) << "and told no request, nor a token";
}

TEST_F(UpstreamRoutesTest, AMemberWithACertificateForAnotherNameIsToldNothing) {
  testkit::UpstreamLab other(lab.config(), {.member_name = "another.example.com"});
  other.publish(*hub, false);
  ASSERT_TRUE(start_as_account(other.member_ca()));
  EXPECT_EQ(state_of("c1"), "NotVerified/member");
  EXPECT_TRUE(other.seen().empty());
}

TEST_F(UpstreamRoutesTest, AnybodyMayAskWhatTheHubKnowsTheCaOf) {
  publish(true);
  ASSERT_TRUE(start(nullptr));
  EXPECT_EQ(way, Way::kKonnectivity) << "the user server lets nobody through without a credential";
  EXPECT_EQ(state_of("c1"), "Healthy/");
  ASSERT_FALSE(upstream.seen().empty());
  EXPECT_EQ(upstream.seen().back().authorization, "");
  EXPECT_EQ(state_of("c2"), "NoRoute/hub") << "nothing vouches for it";
  EXPECT_EQ(upstream.dialed().size(), 1U);
}

TEST_F(UpstreamRoutesTest, AnAccountWithoutATokenIsSaidForItsClusterAlone) {
  publish(true);
  ASSERT_TRUE(start([](const std::string& cluster) -> Result<MemberCredential> {
    if (cluster == "c2") return fail(Category::kNotFound, "no such account");
    return MemberCredential{"of-the-member", ""};
  }));
  EXPECT_EQ(state_of("c2"), "NoRoute/hub");
  EXPECT_EQ(state_of("c1"), "Healthy/");
}

TEST_F(UpstreamRoutesTest, AServerWithoutAnAddressIsReachedThroughTheHub) {
  int port = 0;
  lab.on_port([&](int real) { port = real; });
  lab.add_pod("proxy-server", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 8090}}})}});
  ASSERT_NE(port, 0);
  testkit::UpstreamLab inside(lab.config(), {.ns = "default", .front_port = port});
  inside.publish(*hub, false);
  hub->put(kube::resources::services(), {{"metadata", {{"name", "proxy-entrypoint"}, {"namespace", "default"}}},
                                         {"spec",
                                          {{"type", "ClusterIP"},
                                           {"selector", {{"of", "the-proxy-server"}}},
                                           {"ports", Json::array({{{"port", 8090}, {"targetPort", 8090}}})}}}});
  EXPECT_EQ(start_as_account(inside.member_ca()).error().category, Category::kNotFound) << "no pod runs";
  hub->put(kube::resources::pods(),
           {{"metadata", {{"name", "proxy-server"}, {"namespace", "default"}, {"labels", {{"of", "the-proxy-server"}}}}},
            {"status", {{"phase", "Running"}}}});
  const Status started = start_as_account(inside.member_ca());
  ASSERT_TRUE(started) << started.error().message;
  const auto pods = pods_of("c1");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(inside.dialed().front(), "c1:443");
  EXPECT_NO_FATAL_FAILURE(exec_works());
}

TEST_F(UpstreamRoutesTest, EachHopThatFailsIsNamed) {
  publish(false);
  ASSERT_TRUE(start_as_account(upstream.member_ca()));
  upstream.lose_agents();
  EXPECT_EQ(state_of("c1"), "NoTunnel/tunnel");
  const auto why = pods_of("c1");
  ASSERT_FALSE(why);
  EXPECT_NE(why.error().message.find("No agent available"), std::string::npos) << why.error().message;
  // Another CA than that of the front end.
  hub->put(kube::resources::secrets(), {{"metadata", {{"name", "proxy-server-ca"}, {"namespace", upstream.ns()}}},
                                        {"data", {{"ca.crt", base64_encode(upstream.member_ca())}}}});
  ASSERT_TRUE(start_as_account(upstream.member_ca()));
  EXPECT_EQ(state_of("c1"), "Unreachable/front-end");
  upstream.publish(*hub, true);
  hub->put(kube::resources::secrets(), {{"metadata", {{"name", "proxy-server-ca"}, {"namespace", upstream.ns()}}},
                                        {"data", {{"ca.crt", base64_encode(upstream.member_ca())}}}});
  ASSERT_TRUE(start_as_account());
  EXPECT_EQ(state_of("c1"), "Unreachable/user-server");
  EXPECT_TRUE(upstream.seen().empty());
}

}  // namespace
}  // namespace fleetadm::proxy
