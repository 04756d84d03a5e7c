// Requests for members that the hub dials: with which credential, as whom, and what is said where that does not work.
#include "core/gateway/push_ways.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/gateway/gateway.h"
#include "core/proxy/hub/impersonation.h"
#include "core/registration/join/hosted_token.h"
#include "core/registration/join/push_names.h"
#include "core/registration/join/push_objects.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/https.h"

namespace fleetadm::gateway {
namespace {

using namespace std::chrono_literals;
namespace types = kube::resources;

constexpr const char* kClusterId = "6d1f0f6e-0000-4000-8000-000000000001";

template <class Holds>
bool soon(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

constexpr int kKarmadas = 100;  // from this number on, of an account with the names and the rights of a Karmada control plane

std::string token_number(int number) {
  const auto names = number >= kKarmadas ? api::MemberNames::kKarmada : api::MemberNames::kOwn;
  const join::MemberAccount account = join::push_account(names, "01234567", "c1");
  const Json claims{{"iat", 1000 + number},
                    {"exp", 4'000'000'000},
                    {"kubernetes.io", {{"namespace", account.ns}, {"serviceaccount", {{"name", account.name}, {"uid", "u"}}}}}};
  return base64url_encode(R"({"alg":"none"})") + "." + base64url_encode(dump_json(claims)) + ".c2ln";
}

/// An API server that knows one token, and answers with what it was asked.
class DialedMember {
 public:
  explicit DialedMember(const pki::KeyPair& ca) {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    serve::ListenOptions listen;
    listen.certificate = pki::issue(ca, leaf).value();
    listener_ =
        serve::HttpListener::start(runtime_, listen, [this](const serve::HttpRequest& one) { return answer(one); }).value();
  }
  std::string url() const { return "https://" + listener_->endpoint(); }
  void stop() { listener_.reset(); }

  std::atomic<int> good_token{1};
  std::atomic<bool> is_another{false};
  std::atomic<int> looked{0};  // which cluster it is

 private:
  serve::HttpResponse answer(const serve::HttpRequest& request) {
    if (request.header("authorization") != "Bearer " + token_number(good_token))
      return serve::answer_text(401, R"({"kind":"Status","status":"Failure","code":401,"message":"Unauthorized"})",
                                "application/json");
    if (request.path == "/api/v1/namespaces/kube-system") {
      ++looked;
      const Json system{{"kind", "Namespace"},
                        {"apiVersion", "v1"},
                        {"metadata", {{"name", "kube-system"}, {"uid", is_another ? "somebody-else" : kClusterId}}}};
      return serve::answer_text(200, dump_json(system), "application/json");
    }
    Json headers = Json::object();
    for (const auto& [name, value] : request.headers) headers[name].push_back(value);
    return serve::answer_text(200, dump_json({{"path", request.path}, {"body", request.body}, {"headers", headers}}),
                              "application/json");
  }

  serve::HttpRuntime runtime_{2};
  std::unique_ptr<serve::HttpListener> listener_;
};

class PushWaysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    hub->put(types::config_maps(), {{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", {{"name", "extension-apiserver-authentication"}, {"namespace", "kube-system"}}},
                                    {"data", {{"client-ca-file", ca.certificate}}}});
    accept(true);
    store(1);
    gateway = std::jthread([this](const std::stop_token& stop) {
      const Status ended = run_gateway(hub->client(), options, stop);
      EXPECT_TRUE(ended) << ended.error().message;
    });
    ASSERT_TRUE(soon([&] { return published().has_value(); }));
  }
  void TearDown() override {
    gateway.request_stop();
    if (gateway.joinable()) gateway.join();
  }
  void accept(bool accepted) const {
    hub->put(api::managed_clusters(),
             {{"apiVersion", "cluster.open-cluster-management.io/v1"},
              {"kind", "ManagedCluster"},
              {"metadata", {{"name", "c1"}, {"labels", {{std::string(api::kModeLabel), std::string(api::kPushMode)}}}}},
              {"spec", {{"hubAcceptsClient", accepted}}}});
  }
  void store(int token, const DialedMember& at) const {
    hub->put(types::secrets(),
             join::push_secret("c1", kClusterId, join::member_kubeconfig({at.url(), ca.certificate, {}, {}}, token_number(token)),
                               ""));
  }
  void store(int token) const { store(token, member); }
  void grant(const std::set<std::string>& users, const std::set<std::string>& groups) const {
    proxy::Impersonation who;
    who.users = users;
    who.groups = groups;
    hub->put(api::manifest_works(), proxy::impersonation_work("c1", proxy::push_impersonator("01234567", Json::object()), who));
  }
  std::optional<api::PublishedGateway> published() const {
    const auto live = hub->get(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
    return live ? api::read_gateway(*live).value() : std::nullopt;
  }
  testkit::HttpsAnswer ask(const std::string& path = "/version", const std::string& method = "GET",
                           const std::string& body = {}) const {
    pki::LeafOptions leaf;
    leaf.subject = {"alice", {"devs", "ops"}, {}};
    leaf.client = true;
    const pki::KeyPair alice = pki::issue(ca, leaf).value();
    return testkit::https({.url = published()->server + "/clusters/c1/proxy" + path,
                           .method = method,
                           .body = body,
                           .ca = published()->ca,
                           .certificate = alice.certificate,
                           .key = alice.key});
  }
  bool becomes(int status) const {
    return soon([&] { return ask().status == status; });
  }
  static std::string hop(const testkit::HttpsAnswer& answer) {
    const auto status = parse_json(answer.body);
    const Json causes = status ? list_at(*status, {"details", "causes"}) : Json::array();
    return causes.empty() ? "" : str(causes.front(), {"message"});
  }
  int secret_reads() const {
    const auto calls = hub->calls();
    return static_cast<int>(std::ranges::count_if(
        calls, [](const testkit::ApiCall& one) { return one.plural == "secrets" && one.ns == api::kPushNamespace; }));
  }

  const pki::KeyPair ca = pki::make_ca("hub", 24h).value();
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  DialedMember member{ca};
  GatewayOptions options{.address = "127.0.0.1:0", .tunnel_address = "127.0.0.1:0", .drain = 1s, .keep = 1s};
  std::jthread gateway;
};

TEST_F(PushWaysTest, TheHubsAccountActsAsTheCaller) {
  ASSERT_TRUE(becomes(200));
  const auto answer = ask("/api/v1/namespaces/a%2Fb/pods/x%3Ay", "PUT", "the body");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json seen = parse_json(answer.body).value();
  EXPECT_EQ(str(seen, {"path"}), "/api/v1/namespaces/a%2Fb/pods/x%3Ay");
  EXPECT_EQ(str(seen, {"body"}), "the body");
  EXPECT_EQ(string_list_at(seen, {"headers", "impersonate-user"}), std::vector<std::string>{"alice"});
  for (const auto& [name, value] : object_at(seen, {"headers"}).items()) EXPECT_FALSE(name.starts_with("fleetadm-")) << name;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask().status, 200);
  EXPECT_EQ(secret_reads(), 1) << "once, and by its name";
  EXPECT_EQ(member.looked, 1) << "the cluster behind an address is looked at once";
}

TEST_F(PushWaysTest, OnlyThoseWhoAreGrantedActThere) {
  ASSERT_TRUE(becomes(200));
  grant({"alice"}, {"devs"});
  EXPECT_TRUE(soon([&] {
    const auto seen = parse_json(ask().body);
    return seen && string_list_at(*seen, {"headers", "impersonate-group"}) == std::vector<std::string>{"devs"};
  }));
  grant({"bob"}, {});
  ASSERT_TRUE(becomes(403));
  EXPECT_EQ(hop(ask()), "gateway");
}

TEST_F(PushWaysTest, AnAccountThatMayDoEverythingActsForNobodyWhoIsNotGranted) {
  member.good_token = kKarmadas;
  store(kKarmadas);
  ASSERT_TRUE(becomes(403));
  EXPECT_EQ(hop(ask()), "gateway");
  EXPECT_EQ(member.looked, 1) << "the hub itself";
  grant({"alice"}, {"devs"});
  EXPECT_TRUE(becomes(200));
  ASSERT_TRUE(hub->erase(api::manifest_works(), "c1", proxy::kPushImpersonationWork));
  EXPECT_TRUE(becomes(403));
}

TEST_F(PushWaysTest, ARotatedCredentialIsReadAfterTheFirstRefusal) {
  ASSERT_TRUE(becomes(200));
  member.good_token = 2;
  const auto refused = ask();
  EXPECT_EQ(refused.status, 502) << refused.body;
  EXPECT_EQ(hop(refused), "member");
  EXPECT_NE(refused.body.find("refuses the credential of the hub"), std::string::npos) << refused.body;
  store(2);
  EXPECT_TRUE(becomes(200));
  EXPECT_EQ(member.looked, 1) << "the address is the same";
}

TEST_F(PushWaysTest, AnotherClusterAtTheAddressGetsNoRequest) {
  member.is_another = true;
  ASSERT_TRUE(becomes(502));
  const auto refused = ask();
  EXPECT_EQ(hop(refused), "member");
  EXPECT_NE(refused.body.find("another cluster answers at its address"), std::string::npos) << refused.body;
  member.is_another = false;
  EXPECT_TRUE(becomes(200)) << "it is looked at again";
}

TEST_F(PushWaysTest, SaysWhetherTheHubOrTheMemberFailed) {
  ASSERT_TRUE(becomes(200));
  member.stop();
  const auto away = ask();
  EXPECT_EQ(away.status, 502) << away.body;
  EXPECT_EQ(hop(away), "member");
  ASSERT_TRUE(hub->erase(types::secrets(), api::kPushNamespace, "c1"));
  ASSERT_TRUE(becomes(503));
  const auto missing = ask();
  EXPECT_EQ(hop(missing), "hub");
  EXPECT_NE(missing.body.find("the hub has no credential for it"), std::string::npos) << missing.body;
  EXPECT_EQ(missing.body.find(token_number(1)), std::string::npos);
}

TEST_F(PushWaysTest, AMemberThatMovedIsDialedWhereTheSecretSays) {
  ASSERT_TRUE(becomes(200));
  DialedMember elsewhere{ca};
  elsewhere.good_token = 7;
  store(7, elsewhere);
  member.stop();
  EXPECT_TRUE(becomes(200));
  EXPECT_EQ(elsewhere.looked, 1);
}

TEST_F(PushWaysTest, AClusterThatIsNoLongerAcceptedIsForgotten) {
  ASSERT_TRUE(becomes(200));
  accept(false);
  ASSERT_TRUE(becomes(403));
  const int before = secret_reads();
  accept(true);
  ASSERT_TRUE(becomes(200));
  EXPECT_GT(secret_reads(), before);
}

}  // namespace
}  // namespace fleetadm::gateway
