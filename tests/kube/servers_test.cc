// The equipment itself: what every other suite on real servers relies on.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/https.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

Json small_map(std::string_view name, std::string_view value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"key", value}}}};
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
  Json dependent = small_map("dependent", "");
  dependent["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                           {"kind", "ConfigMap"},
                                                           {"name", "owner"},
                                                           {"uid", uid_of(one().get(std::string(kConfigMaps) + "/owner"))}}});
  ASSERT_EQ(one().create(kConfigMaps, dependent).status, 201);
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

TEST(FreePort, IsBelowTheKernelsOwn) {
  for (int i = 0; i < 20; ++i) {
    const int port = free_port();
    EXPECT_GE(port, 12000);
    EXPECT_LE(port, 32000);
  }
}

}  // namespace
}  // namespace fleetadm::testkit
