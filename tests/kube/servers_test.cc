// The equipment itself: what every other suite on real servers relies on.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/https.h"
#include "tests/support/kube_servers.h"
#include "tests/support/server_pool.h"

namespace fleetadm::testkit {
namespace {

Json small_map(std::string_view name, std::string_view value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"key", value}}}};
}

Json dependent_of(const Json& owner) {
  Json dependent = small_map("dependent", "");
  dependent["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "owner"}, {"uid", uid_of(owner)}}});
  return dependent;
}

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";

class KubeServers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = KubeServer::start_all({{.name = "one"}, {.name = "two", .controller_manager = false}});
    ASSERT_TRUE(started) << started.error().message;
    servers() = std::move(*started);
  }
  static void TearDownTestSuite() { servers().clear(); }
  void SetUp() override { FLEETADM_NEEDS_KUBE_SERVERS(); }

  static std::vector<std::unique_ptr<KubeServer>>& servers() {
    static std::vector<std::unique_ptr<KubeServer>> all;
    return all;
  }
  static KubeServer& one() { return *servers().at(0); }
  static KubeServer& two() { return *servers().at(1); }

  static HttpsAnswer as(const KubeServer& server, const pki::KeyPair& user, std::string_view method, std::string_view path,
                        const Json& body = {}) {
    return https({.url = server.url() + std::string(path),
                  .method = std::string(method),
                  .body = body.is_null() ? std::string() : dump_json(body),
                  .ca = server.ca().certificate,
                  .certificate = user.certificate,
                  .key = user.key});
  }
};

TEST_F(KubeServers, AreSeparate) {
  ASSERT_EQ(one().create(kConfigMaps, small_map("here", "x")).status, 201);
  EXPECT_EQ(str(one().get(std::string(kConfigMaps) + "/here"), {"data", "key"}), "x");
  EXPECT_TRUE(two().get(std::string(kConfigMaps) + "/here").is_null());
  EXPECT_NE(one().ca().certificate, two().ca().certificate);
  // A client of one server is nobody on the other, and does not trust it either.
  EXPECT_EQ(as(two(), one().admin(), "GET", kConfigMaps).status, 401);
}

TEST_F(KubeServers, AskForRights) {
  const auto nobody = pki::issue(one().ca(), {.subject = {.common_name = "nobody"}, .client = true});
  ASSERT_TRUE(nobody);
  EXPECT_EQ(as(one(), *nobody, "GET", kConfigMaps).status, 403);
  EXPECT_EQ(as(one(), one().admin(), "GET", kConfigMaps).status, 200);
}

TEST_F(KubeServers, WriteAnAuditLogThatTestsCanRead) {
  const auto from = one().audit_position();
  ASSERT_EQ(as(one(), one().admin(), "POST", kConfigMaps, small_map("audited", "y")).status, 201);
  ASSERT_EQ(as(one(), one().admin(), "GET", std::string(kConfigMaps) + "/audited").status, 200);
  std::vector<AuditEntry> entries;
  ASSERT_TRUE(eventually([&] {
    entries = one().audit_since(from);
    return entries.size() >= 2;
  }));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].verb, "create");
  EXPECT_TRUE(entries[0].is_write());
  EXPECT_EQ(entries[0].user, "kubernetes-admin");
  EXPECT_EQ(entries[0].resource, "configmaps");
  EXPECT_EQ(entries[0].code, 201);
  EXPECT_EQ(str(entries[0].request, {"data", "key"}), "y");
  EXPECT_EQ(entries[1].verb, "get");
  EXPECT_FALSE(entries[1].is_write());
  EXPECT_TRUE(entries[1].response.is_null());
  // The fixture's own requests leave no trace.
  one().get(std::string(kConfigMaps) + "/audited");
  EXPECT_EQ(one().audit_since(from).size(), 2U);
}

TEST_F(KubeServers, RunControllers) {
  ASSERT_EQ(
      one().create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "gone"}}}}).status,
      201);
  EXPECT_TRUE(one().eventually("/api/v1/namespaces/gone/serviceaccounts/default",
                               [](const Json& account) { return account.is_object(); }));
  EXPECT_EQ(one().request("DELETE", "/api/v1/namespaces/gone").status, 200);
  EXPECT_TRUE(one().eventually("/api/v1/namespaces/gone", [](const Json& ns) { return ns.is_null(); }));
}

TEST_F(KubeServers, CollectGarbage) {
  ASSERT_EQ(one().create(kConfigMaps, small_map("owner", "")).status, 201);
  ASSERT_EQ(one().create(kConfigMaps, dependent_of(one().get(std::string(kConfigMaps) + "/owner"))).status, 201);
  ASSERT_EQ(one().request("DELETE", std::string(kConfigMaps) + "/owner").status, 200);
  EXPECT_TRUE(one().eventually(std::string(kConfigMaps) + "/dependent", [](const Json& object) { return object.is_null(); }));
}

TEST_F(KubeServers, FreezeAndComeBack) {
  two().freeze();
  const auto before = std::chrono::steady_clock::now();
  const HttpsRequest ask{.url = two().url() + "/readyz", .ca = two().ca().certificate, .timeout_seconds = 2};
  EXPECT_EQ(https(ask).status, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(1900));  // silence, not refusal
  two().thaw();
  EXPECT_TRUE(eventually([] { return two().request("GET", "/readyz").status == 200; }));
  two().stop_apiserver();
  EXPECT_EQ(two().request("GET", "/readyz").status, 0);
  ASSERT_TRUE(two().start_apiserver());
  EXPECT_EQ(two().request("GET", "/readyz").status, 200);
}

// One server, for one use after the other.
class ServersInTurn : public ::testing::Test {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    take({.name = "turns"});
    first_url_ = server_->url();
  }
  void TearDown() override { give_back(std::move(server_)); }
  void take(KubeServerOptions options) {
    auto servers = take_servers({std::move(options)});
    ASSERT_TRUE(servers) << servers.error().message;
    server_ = std::move(servers->front());
  }
  void take_next(KubeServerOptions options = {.name = "turns"}) {
    give_back(std::move(server_));
    take(std::move(options));
  }
  void must(std::string_view method, std::string_view path, const Json& body = {}) {
    const auto answer = server_->request(method, path, body.is_null() ? "" : dump_json(body),
                                         method == "PATCH" ? "application/merge-patch+json" : "application/json");
    ASSERT_LT(answer.status, 300) << path << ": " << answer.body;
  }
  void make_kind() {
    const Json version{
        {"name", "v1"}, {"served", true}, {"storage", true}, {"schema", {{"openAPIV3Schema", {{"type", "object"}}}}}};
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "things.example.com"}}},
          {"spec",
           {{"group", "example.com"},
            {"scope", "Cluster"},
            {"names", {{"plural", "things"}, {"kind", "Thing"}}},
            {"versions", Json::array({version})}}}});
    ASSERT_TRUE(server_->eventually("/apis/example.com/v1/things", [](const Json& list) { return list.contains("items"); }));
  }
  static Json make_namespace(std::string_view name) {
    return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
  }

  std::unique_ptr<KubeServer> server_;
  std::string first_url_;
};

TEST_F(ServersInTurn, FindNothingOfWhatTheOneBeforeWrote) {
  const Json thing{{"apiVersion", "example.com/v1"}, {"kind", "Thing"}, {"metadata", {{"name", "mine"}}}};
  const std::string things = "/apis/example.com/v1/things";
  const std::string view = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
  for (int turn = 0; turn < 3; ++turn) {
    SCOPED_TRACE(turn);
    const std::string ns = "/api/v1/namespaces/app";
    EXPECT_TRUE(server_->audit().empty());
    EXPECT_TRUE(server_->get(ns).is_null());
    EXPECT_EQ(server_->request("GET", things).status, 404);
    EXPECT_EQ(str(server_->get("/api/v1/namespaces/default"), {"metadata", "annotations", "by"}), "");
    EXPECT_TRUE(server_->eventually(view, [](const Json& role) { return !list_at(role, {"rules"}).empty(); }));
    ASSERT_NO_FATAL_FAILURE(make_kind());
    must("POST", things, thing);
    must("POST", "/api/v1/namespaces", make_namespace("app"));
    must("PATCH", "/api/v1/namespaces/default", {{"metadata", {{"annotations", {{"by", "a test"}}}}}});
    must("DELETE", view);
    EXPECT_TRUE(server_->eventually(ns + "/configmaps/kube-root-ca.crt", [](const Json& map) { return map.is_object(); }));
    ASSERT_EQ(https({.url = server_->url() + ns,
                     .ca = server_->ca().certificate,
                     .certificate = server_->admin().certificate,
                     .key = server_->admin().key})
                  .status,
              200);
    EXPECT_FALSE(server_->audit().empty());
    ASSERT_NO_FATAL_FAILURE(take_next());
    EXPECT_EQ(server_->url(), first_url_);
  }
}

TEST_F(ServersInTurn, HaveControllersThatWork) {
  const auto absent = [](const Json& object) { return object.is_null(); };
  for (int turn = 0; turn < 2; ++turn) {
    SCOPED_TRACE(turn);
    must("POST", kConfigMaps, small_map("owner", ""));
    must("POST", kConfigMaps, dependent_of(server_->get(std::string(kConfigMaps) + "/owner")));
    must("POST", "/api/v1/namespaces", make_namespace("gone"));
    must("DELETE", std::string(kConfigMaps) + "/owner");
    must("DELETE", "/api/v1/namespaces/gone");
    EXPECT_TRUE(server_->eventually("/api/v1/namespaces/gone", absent));
    EXPECT_TRUE(server_->eventually(std::string(kConfigMaps) + "/dependent", absent));
    ASSERT_NO_FATAL_FAILURE(take_next());
  }
}

TEST_F(ServersInTurn, AreOthersForOtherOptionsAndAfterFaults) {
  ASSERT_NO_FATAL_FAILURE(take_next({.name = "turns", .controller_manager = false}));
  EXPECT_NE(server_->url(), first_url_);
  ASSERT_NO_FATAL_FAILURE(take_next({.name = "turns", .controller_manager = false, .fresh = true}));
  EXPECT_NE(server_->url(), first_url_);
  ASSERT_NO_FATAL_FAILURE(take_next());
  EXPECT_EQ(server_->url(), first_url_);
  server_->stop_apiserver();
  ASSERT_TRUE(server_->start_apiserver());
  ASSERT_NO_FATAL_FAILURE(take_next());
  EXPECT_EQ(server_->url(), first_url_);
  server_->freeze();
  server_->thaw();
  ASSERT_NO_FATAL_FAILURE(take_next());
  EXPECT_NE(server_->url(), first_url_);
}

TEST(FreePort, IsBelowTheKernelsOwn) {
  for (int i = 0; i < 20; ++i) {
    const int port = free_port();
    EXPECT_GE(port, 12000);
    EXPECT_LE(port, 32000);
  }
}

}  // namespace
}  // namespace fleetadm::testkit
