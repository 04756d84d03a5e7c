// What a member sees of its callers, where everything at the member is hostile: the front, a tunnel and the agent's end over real
// TLS, and API servers that write down every request. And which doors open for whom.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"
#include "tests/support/raw_client.h"
#include "tests/support/tls_server.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
using testkit::TlsRequest;
using testkit::TlsServer;

/// A member whose API server writes down what it gets, and whose agent has a tunnel.
struct SpyingMember {
  std::vector<TlsRequest> seen() const {
    const std::lock_guard lock(mutex);
    return requests;
  }
  TlsRequest last() const {
    const auto all = seen();
    return all.empty() ? TlsRequest{} : all.back();
  }
  /// All that it was told, as one text.
  std::string text() const {
    std::string out;
    for (const auto& one : seen()) {
      out += one.method + " " + one.target + "\n";
      for (const auto& [name, value] : one.headers) out += name + ": " + value + "\n";
      out += one.body + "\n" + one.client_name + "\n";
    }
    return out;
  }

  std::string agent_token;
  mutable std::mutex mutex;
  std::vector<TlsRequest> requests;
  std::unique_ptr<TlsServer> server;
  std::unique_ptr<TunnelClients> agent;
};

class NobodyElse : public GatewayLab {
 protected:
  NobodyElse() {
    options_.hop = [this](std::string_view cluster) { return registry_->find(cluster); };
    options_.exposes = [](std::string_view cluster, const ServiceTarget& service) {
      return cluster == "c1" && service.name == "web";
    };
    start();
    TunnelServerOptions server;
    server.address = "127.0.0.1";
    server.certificate = serving();
    server.client_ca = hub_ca_.certificate;
    server_ = std::move(*TunnelServer::start(runtime_, server, registry_));
    for (const char* cluster : {"c1", "c2"}) start_member(cluster);
  }
  ~NobodyElse() override {
    for (auto& [name, one] : members_) one.agent.reset();
    listener_.reset();
    server_.reset();
    agent_runtime_.stop();
    runtime_.stop();
  }

  pki::KeyPair serving() const {
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    return *pki::issue(serving_ca_, leaf);
  }
  pki::KeyPair agent_certificate(const std::string& cluster) const {
    const std::string group = "system:open-cluster-management:" + cluster;
    return certificate_of({group + ":a1", {group, "system:open-cluster-management:managed-clusters"}, {}});
  }
  void start_member(const std::string& cluster) {
    SpyingMember& made = members_[cluster];
    made.agent_token = "credential-of-the-agent-of-" + cluster;
    made.server = std::make_unique<TlsServer>(serving(), [&made](const TlsRequest& request, const testkit::TlsWrite& write) {
      {
        const std::lock_guard lock(made.mutex);
        made.requests.push_back(request);
      }
      return write(TlsServer::response(200, "{}", "Set-Cookie: planted=1\r\nfleetadm-user: planted\r\n"));
    });
    Http1HopOptions hop;
    hop.name = cluster;
    hop.server = made.server->url();
    hop.ca = serving_ca_.certificate;
    hop.credentials = kube::static_credentials({.token = made.agent_token});
    TunnelClientOptions tunnel;
    tunnel.certificate = [own = agent_certificate(cluster)]() -> Result<pki::KeyPair> { return own; };
    tunnel.handle = answer_tunnel(std::make_shared<MemberHop>(*Http1Hop::make(agent_runtime_.executor(), hop)));
    made.agent = std::make_unique<TunnelClients>(agent_runtime_, std::move(tunnel));
    ASSERT_TRUE(made.agent->set_gateways({server_->endpoint()}, serving_ca_.certificate));
    for (int i = 0; i < 1000 && !registry_->has(cluster); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(registry_->has(cluster));
  }
  const SpyingMember& member(const std::string& cluster) const { return members_.at(cluster); }

  std::shared_ptr<TunnelRegistry> registry_ = std::make_shared<TunnelRegistry>();
  serve::HttpRuntime agent_runtime_{1};
  std::unique_ptr<TunnelServer> server_;
  std::map<std::string, SpyingMember> members_;
};

constexpr const char* kForged[] = {"X-Remote-User: admin",
                                   "X-Remote-Group: system:masters",
                                   "X-Remote-Extra-Scopes: all",
                                   "X-Forwarded-For: 203.0.113.9",
                                   "X-Forwarded-Host: evil.example",
                                   "X-Forwarded-Proto: http",
                                   "X-Real-Ip: 203.0.113.9",
                                   "Forwarded: for=203.0.113.9;host=evil.example",
                                   "Via: 1.1 evil.example",
                                   "Host: evil.example",
                                   "Cookie: session=cookie-secret",
                                   "Proxy-Authorization: Basic cHJveHktc2VjcmV0",
                                   "Cluster-Proxy-Service-Host: 203.0.113.9",
                                   "Cluster-Proxy-Namespace: kube-system",
                                   "Cluster-Proxy-Service: evil",
                                   "Cluster-Proxy-Port: 443",
                                   "fleetadm-user: admin",
                                   "fleetadm-group: system%3amasters",
                                   "fleetadm-token: member",
                                   "Audit-Id: forged"};

TEST_F(NobodyElse, AHostileMemberLearnsNoCredentialThatWorksElsewhere) {
  const std::string token = "e30." + base64url_encode(R"({"sub":"hub-secret"})") + ".c2ln";
  tokens_[token] = {{"user", {{"username", "system:serviceaccount:n:a"}, {"groups", {"system:serviceaccounts"}}}}};
  const std::vector<std::string> forged(std::begin(kForged), std::end(kForged));
  for (const char* target :
       {"/clusters/c1/proxy/api/v1/pods", "/c1/api/v1/pods", "/c1/api/v1/namespaces/n/services/https:web:443/proxy-service/login",
        "/clusters/c1/proxy/api/v1/namespaces/n/services/https:web:443/proxy/login"}) {
    const auto answer = ask({.target = target, .method = "POST", .headers = forged, .token = token, .body = "{}"});
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.head.find("planted"), std::string::npos) << answer.head;
    EXPECT_EQ(ask_as_jane({.target = target, .headers = forged}).status, 200);
  }
  const std::string in_subprotocol = base64url_encode(token);
  EXPECT_EQ(ask({.target = "/c1/api/v1/namespaces/n/pods/p/exec",
                 .headers = {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                             "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + in_subprotocol +
                                 ", v5.channel.k8s.io"}})
                .status,
            200);
  ASSERT_EQ(member("c1").seen().size(), 9U);
  EXPECT_TRUE(member("c2").seen().empty()) << "requests of one cluster are not another's to see";
  const std::string text = member("c1").text();
  for (const std::string& secret :
       {token, in_subprotocol, std::string("cookie-secret"), std::string("cHJveHktc2VjcmV0"), jane_.key, jane_.certificate,
        member("c2").agent_token, std::string("203.0.113.9"), std::string("evil"), std::string("admin"),
        std::string("system:masters"), std::string("kube-system"), std::string("forged")}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  }
  for (const auto& request : member("c1").seen()) {
    const auto value = [&](const std::string& name) {
      const auto at = request.headers.find(name);
      return at == request.headers.end() ? std::string() : at->second;
    };
    EXPECT_EQ(value("authorization"), "Bearer " + member("c1").agent_token) << "its own, which it has anyway";
    EXPECT_EQ(value("host"), member("c1").server->url().substr(std::string("https://").size()));
    const std::string user = value("impersonate-user");
    EXPECT_TRUE(user == "jane" || user == "cluster:hub:system:serviceaccount:n:a") << user;
    for (const auto& [name, ignored] : request.headers) {
      EXPECT_FALSE(name.starts_with("x-") || name.starts_with("fleetadm-") || name.starts_with("cluster-proxy-")) << name;
    }
  }
}

TEST_F(NobodyElse, AnExposedServiceSeesNothingOfItsCaller) {
  tokens_["hub-secret"] = {{"user", {{"username", "joe"}}}};
  EXPECT_EQ(ask({.target = "/c1/api/v1/namespaces/n/services/https:web:443/proxy-service/a%2Fb?q=1",
                 .headers = {"Cookie: cookie-secret"},
                 .token = "hub-secret"})
                .status,
            200);
  // The API server takes the agent's credential and the impersonation for itself, as it does with every request.
  const auto request = member("c1").last();
  EXPECT_EQ(request.target, "/api/v1/namespaces/n/services/https:web:443/proxy/a%2Fb?q=1");
  EXPECT_EQ(member("c1").text().find("secret"), std::string::npos) << member("c1").text();
  for (const char* target : {"/c2/api/v1/namespaces/n/services/https:web:443/proxy-service/x",
                             "/c1/api/v1/namespaces/n/services/https:db:443/proxy-service/x"}) {
    EXPECT_EQ(ask({.target = target, .token = "hub-secret"}).status, 403) << target;
  }
  EXPECT_EQ(member("c1").seen().size(), 1U);
  EXPECT_TRUE(member("c2").seen().empty());
}

TEST_F(NobodyElse, GroupsOfTheHubThatAreReservedDoNotCross) {
  tokens_["t"] = {{"user",
                   {{"username", "joe"},
                    {"groups",
                     {"system:masters", "system:nodes", "system:serviceaccounts:kube-system", "system:kube-scheduler",
                      "cluster:hub:system:serviceaccounts:x", "system:authenticated", "devs"}},
                    {"extra", {{"scopes", {"everything"}}}},
                    {"uid", "0"}}}};
  EXPECT_EQ(ask({.target = "/c1/version", .token = "t"}).status, 200);
  const std::string text = member("c1").text();
  EXPECT_NE(text.find("impersonate-user: joe\n"), std::string::npos) << text;
  for (const char* absent : {"system:masters", "system:nodes", "system:kube-scheduler", "impersonate-uid", "impersonate-extra"})
    EXPECT_EQ(text.find(absent), std::string::npos) << text;
  EXPECT_EQ(text.find("group: system:serviceaccounts"), std::string::npos) << "not those of the member itself: " << text;
}

TEST_F(NobodyElse, ATokenThatTheHubDoesNotKnowOpensNoCluster) {
  const auto claims = [](const Json& audience, std::int64_t expires) {
    return "e30." + base64url_encode(dump_json(Json{{"aud", audience}, {"exp", expires}})) + ".";
  };
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_->now().time_since_epoch()).count();
  const std::string signed_for_gateway = claims("fleetadm-gateway", now + 600) + "c2ln";
  const std::string of_cluster = claims({"https://kubernetes.default.svc"}, now + 600) + "bWVtYmVy";  // a member's own
  tokens_[signed_for_gateway] = {{"user", {{"username", "joe"}}}, {"audience", "fleetadm-gateway"}};
  allows_ = [](const Json& spec) { return str(spec, {"resourceAttributes", "name"}) == "c1"; };
  EXPECT_EQ(ask({.target = "/c1/version", .token = signed_for_gateway}).status, 200);
  EXPECT_EQ(ask({.target = "/c2/version", .token = signed_for_gateway}).status, 403) << "a right for one cluster is for that one";
  EXPECT_EQ(ask({.target = "/c2/version", .token = of_cluster}).status, 401) << "what a member has signed";
  EXPECT_EQ(ask({.target = "/c1/version", .token = claims("fleetadm-gateway", now + 600)}).status, 401) << "unsigned";
  EXPECT_EQ(ask({.target = "/c1/version", .token = claims("fleetadm-gateway", now - 600) + "c2ln"}).status, 401) << "expired";
  EXPECT_EQ(ask({.target = "/c1/version", .token = claims("another", now + 600) + "c2ln"}).status, 401) << "for somebody else";
  EXPECT_EQ(ask({.target = "/c1/version", .token = claims(Json::array(), now + 600) + "c2ln"}).status, 401) << "for nobody";
  clock_->advance(11s);
  tokens_.clear();
  EXPECT_EQ(ask({.target = "/c1/version", .token = signed_for_gateway}).status, 401) << "once the hub revokes it";
  EXPECT_EQ(member("c1").seen().size(), 1U);
  EXPECT_TRUE(member("c2").seen().empty());
}

TEST_F(NobodyElse, EachDoorIsForItsOwn) {
  // An agent's certificate is nobody at the front, for its own cluster and for others.
  const auto agent = agent_certificate("c1");
  for (const char* target : {"/clusters/c1/proxy/version", "/clusters/c2/proxy/version", "/c2/version"})
    EXPECT_EQ(ask({.target = target, .certificate = &agent}).status, 403) << target;
  // A client's is nobody at the tunnel port, whatever it may do on the hub.
  const auto master = certificate_of({"kubernetes-admin", {"system:masters"}, {}});
  for (const pki::KeyPair* who : {static_cast<const pki::KeyPair*>(&jane_), &master}) {
    testkit::RawClient client(server_->port(), serving_ca_.certificate, *who);
    std::string heard;
    if (client.connected()) {
      static_cast<void>(client.send("GET /clusters/c2/proxy/version HTTP/1.1\r\nhost: c2\r\n\r\n"));
      EXPECT_FALSE(client.receive(heard)) << heard;
    }
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(registry_->size(), 2U);
  // And what an agent says to the tunnel port as a client is not answered.
  testkit::RawClient client(server_->port(), serving_ca_.certificate, agent);
  std::string heard;
  if (client.connected()) {
    static_cast<void>(client.send("GET /clusters/c2/proxy/version HTTP/1.1\r\nhost: c2\r\n\r\n"));
    EXPECT_FALSE(client.receive(heard)) << heard;
  }
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(member("c1").seen().empty());
  EXPECT_TRUE(member("c2").seen().empty());
}

TEST_F(NobodyElse, AMembersTokenGoesToThatMemberAlone) {
  EXPECT_EQ(ask_as_jane({.target = "/c1/version", .headers = {"fleetadm-member-token: token.of.c1"}}).status, 200);
  EXPECT_EQ(ask_as_jane({.target = "/c2/version"}).status, 200);
  EXPECT_EQ(member("c1").last().headers.at("authorization"), "Bearer token.of.c1");
  EXPECT_EQ(member("c1").text().find("impersonate"), std::string::npos) << "it acts for itself";
  EXPECT_EQ(member("c1").text().find(member("c1").agent_token), std::string::npos);
  EXPECT_EQ(member("c2").text().find("token.of.c1"), std::string::npos);
}

TEST_F(NobodyElse, ClientsTellNothingToAGatewayThatTheyDoNotKnow) {
  const auto other = *pki::make_ca("serving", std::chrono::hours(1));
  kube::RestConfig config;
  config.name = "gateway";
  config.server = "https://" + listener_->endpoint() + "/clusters/c1/proxy";
  config.ca_data = other.certificate;
  config.credentials = kube::static_credentials({.token = "hub-secret"});
  const auto refused = kube::Client::connect(config).list(kube::resources::pods(), "default");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kTls) << refused.error().message;
  EXPECT_EQ(reviews("tokenreviews"), 0);
}

TEST_F(NobodyElse, NothingSecretIsLoggedHoweverMuchIs) {
  const std::string token = "e30." + base64url_encode(R"({"sub":"hub-secret"})") + ".c2ln";
  tokens_[token] = {{"user", {{"username", "joe"}}}};
  log::set_verbosity(9);
  testing::internal::CaptureStderr();
  ask({.target = "/c1/api/v1/secrets?token=query-secret", .headers = {"Cookie: cookie-secret"}, .token = token});
  ask({.target = "/c1/version", .headers = {"fleetadm-member-token: member-secret"}, .token = token, .body = "body-secret"});
  ask({.target = "/c1/version", .token = "refused-secret"});
  ask({.target = "/c9/version", .headers = {"Impersonate-User: x"}, .token = token});
  members_["c1"].agent.reset();
  ask({.target = "/c1/version", .token = token});
  const auto records = audited(5);
  const std::string logged = testing::internal::GetCapturedStderr();
  log::set_verbosity(0);
  for (const std::string& secret :
       {token, std::string("-secret"), std::string("credential-of-the-agent"), std::string("PRIVATE KEY")}) {
    EXPECT_EQ(logged.find(secret), std::string::npos) << logged;
    for (const auto& record : records) EXPECT_EQ(audit_line(record).find(secret), std::string::npos) << audit_line(record);
  }
}

}  // namespace
}  // namespace fleetadm::proxy
